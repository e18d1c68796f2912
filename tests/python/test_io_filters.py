"""spdl.io: texts of filters, filter graphs, batches of pictures, configs of demuxing and decoding, and what FFmpeg is there."""

import io
import logging
import os
import re
import subprocess
import sys
import wave

import numpy as np
import pytest

import spdl
import spdl.io
from test_io import wav_bytes, y4m

RATE = 8000


@pytest.fixture(scope="module", autouse=True)
def ffmpeg():
    try:
        spdl.io.utils.get_ffmpeg_versions()
    except spdl.SampleError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def video():
    """10 frames of 16 x 16, 10 a second, each of its own grey."""
    return y4m(range(20, 120, 10))


@pytest.fixture(scope="module")
def sound():
    """A second of stereo."""
    return wav_bytes(np.random.default_rng(3).integers(-20000, 20000, (RATE, 2), dtype=np.int16))


def greys(frames):
    """The grey in the middle of each."""
    a = frames.numpy()
    return a[:, a.shape[1] // 2, a.shape[2] // 2, 0].astype(int).tolist()


# ---- texts


def test_video_filters_do_what_their_builder_says(video):
    def shape(**kw):
        return spdl.io.load_video(video, filter_desc=spdl.io.get_video_filter_desc(**kw)).shape

    assert shape() == (10, 16, 16, 3)
    assert shape(frame_rate=(5, 1)) == (5, 16, 16, 3)
    assert shape(timestamp=(0.2, 0.5)) == (3, 16, 16, 3) and shape(timestamp=(0.2, None)) == (8, 16, 16, 3)
    assert shape(timestamp=(float("-inf"), float("inf"))) == (10, 16, 16, 3)
    for mode in ("pad", "crop", None):
        assert shape(scale_width=32, scale_height=8, scale_mode=mode) == (10, 8, 32, 3)
    assert shape(scale_width=32, scale_mode=None) == (10, 16, 32, 3)
    assert shape(scale_width=32, scale_mode="crop") == (10, 32, 32, 3)  # SPDL's own text crops to a height of 0
    assert shape(scale_width=-2, scale_height=8) == (10, 8, 8, 3)
    assert shape(crop_width=4, crop_height=6) == (10, 6, 4, 3) and shape(crop_width=4) == (10, 16, 4, 3)
    assert shape(num_frames=4) == (4, 16, 16, 3) and shape(filter_desc="crop=2:2") == (10, 2, 2, 3)
    padded = spdl.io.load_video(video, filter_desc=spdl.io.get_video_filter_desc(scale_width=32, scale_height=16)).numpy()
    assert padded[:, :, :8].max() == 0 and padded[:, :, 24:].max() == 0 and padded[:, :, 9:23].min() > 15
    repeated = spdl.io.load_video(video, filter_desc=spdl.io.get_video_filter_desc(num_frames=13))
    assert repeated.shape[0] == 13 and len(set(greys(repeated)[9:])) == 1
    blue = spdl.io.load_video(video, filter_desc=spdl.io.get_video_filter_desc(num_frames=12, pad_mode="blue")).numpy()
    assert blue[11, 0, 0, 2] > 200 and blue[11, 0, 0, 0] < 60
    assert spdl.io.get_video_filter_desc(pix_fmt=None) is None


def test_audio_filters_do_what_their_builder_says(sound):
    def load(**kw):
        return spdl.io.load_audio(sound, filter_desc=spdl.io.get_audio_filter_desc(**kw))

    want = spdl.io.load_audio(sound).numpy()
    np.testing.assert_array_equal(load().numpy(), want)
    np.testing.assert_array_equal(load(timestamp=(0.25, 0.5)).numpy(), want[:, 2000:4000])
    assert load(sample_rate=16000).shape == (2, 16000)
    np.testing.assert_allclose(load(num_channels=1).numpy()[0], want.sum(axis=0) * 0.5**0.5, atol=1e-6)
    assert load(num_channels=6).shape[0] == 6
    np.testing.assert_array_equal(load(num_frames=100).numpy(), want[:, :100])
    padded = load(num_frames=9000).numpy()
    np.testing.assert_array_equal(padded[:, :RATE], want)
    assert padded.shape == (2, 9000) and not padded[:, RATE:].any()
    assert load(filter_desc="volume=0", sample_fmt="s16").numpy().any() is np.False_
    assert spdl.io.get_audio_filter_desc(sample_fmt=None) is None


def test_packets_say_which_filters_are_theirs(video, sound, tmp_path):
    packets = spdl.io.demux_audio(sound, (0.25, 0.5))
    assert "atrim=start=0.25:end=0.5" in spdl.io.get_filter_desc(packets)
    decoder = spdl.io.Decoder(packets.codec, filter_desc=spdl.io.get_filter_desc(packets))
    got = np.concatenate([a.numpy() for part in (decoder.streaming_decode_packets(packets), decoder.flush()) for a in part], axis=1)
    np.testing.assert_array_equal(got, spdl.io.load_audio(sound, (0.25, 0.5)).numpy())
    frames = spdl.io.decode_packets(spdl.io.demux_video(video, (0.2, 0.5)), filter_desc=spdl.io.get_filter_desc(spdl.io.demux_video(video), scale_width=8, scale_height=8))
    assert frames.shape == (3, 8, 8, 3) and frames.pts == pytest.approx([0.2, 0.3, 0.4]) and frames.num_frames == 3
    with pytest.raises(spdl.ArgumentError, match="got bytes, want AudioPackets"):
        spdl.io.get_filter_desc(b"")
    with pytest.raises(spdl.Unsupported, match=r"get_filter_desc: filter_desc: pictures go through no filters; want decode_packets\(packets, transform="):
        spdl.io.get_filter_desc(spdl.io.demux_image(b"no picture"))


@pytest.mark.parametrize("call, text", [
    (lambda: spdl.io.get_video_filter_desc(scale_width=4, scale_mode="squeeze"), "scale_mode='squeeze', want"),
    (lambda: spdl.io.get_video_filter_desc(num_frames=0), "num_frames=0, want a whole number from 1"),
    (lambda: spdl.io.get_video_filter_desc(num_frames=1.5), "num_frames=1.5, want a whole number"),
    (lambda: spdl.io.get_video_filter_desc(crop_width=-1), "crop_width=-1"),
    (lambda: spdl.io.get_video_filter_desc(frame_rate=30), r"get_video_filter_desc: frame_rate=30, want \(numerator, denominator\), such as \(30, 1\)"),
    (lambda: spdl.io.get_video_filter_desc(scale_width="x"), "scale_width='x', want a whole number"),
    (lambda: spdl.io.get_audio_filter_desc(sample_rate=True), "sample_rate=True"),
    (lambda: spdl.io.get_audio_filter_desc(num_channels=9), "num_channels=9, want 1 to 8"),
    (lambda: spdl.io.get_buffer_desc("h264"), "a codec of str, want one of video: Demuxer.video_codec"),
    (lambda: spdl.io.get_abuffer_desc(None), "a codec of NoneType, want one of audio"),
])
def test_builders_refuse_what_makes_no_text(call, text):
    with pytest.raises(spdl.ArgumentError, match=text):
        call()


# ---- graphs


def test_a_program_of_spdls_form_filters_what_a_decoder_gives(video):
    """The example of SPDL's guide: frames of a decoder, into a graph, and what is ready out of it."""
    demuxer = spdl.io.Demuxer(video)
    codec = demuxer.video_codec
    decoder = spdl.io.Decoder(codec, filter_desc=None)
    graph = spdl.io.FilterGraph(f"{spdl.io.get_buffer_desc(codec)},hflip,buffersink")
    got, pts = [], []

    def take():
        frames = graph.get_frames()
        if frames is not None:
            got.extend(greys(frames))
            pts.extend(frames.pts)

    for packets in demuxer.streaming_demux(demuxer.video_stream_index, num_packets=3):
        for frames in decoder.streaming_decode_packets(packets):
            graph.add_frames(frames)
            take()
    for frames in decoder.flush():
        graph.add_frames(frames)
    graph.flush()
    take()
    assert got == greys(spdl.io.load_video(video)) and pts == pytest.approx([i / 10 for i in range(10)])
    assert graph.get_frames() is None and "hflip" in graph.dump()


def test_inputs_and_outputs_go_by_their_keys(video):
    codec = spdl.io.Demuxer(video).video_codec
    text = ";".join(f"{spdl.io.get_buffer_desc(codec, label=side)}[{side}]" for side in "ab")
    graph = spdl.io.FilterGraph(f"{text};[a][b]hstack,split[x][y];[x]buffersink@x;[y]crop=16:16:0:0,buffersink@y")
    assert [end["name"] for end in graph.inputs + graph.outputs] == ["buffer@a", "buffer@b", "buffersink@x", "buffersink@y"]
    loaded = spdl.io.load(video, {"video": {}})
    graph.add_frames(loaded, key="buffer@a")
    assert graph.get_frames(key="buffersink@x") is None
    graph.add_frames(loaded["video"].numpy()[::-1], key="buffer@b")
    graph.flush()
    wide, first = graph.get_frames(key="buffersink@x"), graph.get_frames(key="buffersink@y")
    np.testing.assert_array_equal(wide.numpy(), np.concatenate([loaded["video"].numpy(), loaded["video"].numpy()[::-1]], axis=2))
    np.testing.assert_array_equal(first.numpy(), loaded["video"].numpy())
    for call in (lambda: graph.add_frames(loaded), lambda: graph.add_frames(loaded, key="a")):
        with pytest.raises(spdl.ArgumentError, match="want the input 'buffer@a' or 'buffer@b'"):
            call()
    with pytest.raises(spdl.ArgumentError, match="want the output 'buffersink@x' or"):
        graph.get_frames(key="buffersink")


def test_a_picture_of_a_sound_is_drawn(sound):
    codec = spdl.io.Demuxer(sound).audio_codec
    graph = spdl.io.FilterGraph(f"{spdl.io.get_abuffer_desc(codec)},asplit[a][b];[a]showwaves=s=32x16:rate=10,format=rgb24,buffersink;[b]volume=0.5,abuffersink")
    assert graph.inputs[0]["format"] == "fltp"
    wave_ = spdl.io.load_audio(sound)
    graph.add_frames(wave_)
    graph.flush()
    pictures, half = (graph.get_frames(key=end["name"]) for end in graph.outputs)
    assert pictures.shape[1:] == (16, 32, 3) and pictures.num_frames >= 9 and pictures.numpy().any()
    np.testing.assert_allclose(half.numpy(), wave_.numpy() / 2, atol=1e-6)
    assert half.pts == [0.0]


def test_arrays_must_be_as_their_input_says():
    graph = spdl.io.FilterGraph("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,null,buffersink")
    for fits in (np.zeros((3, 2, 4, 1), "u1"), np.zeros((3, 2, 4), "u1"), np.zeros((2, 4), "u1"), np.zeros((2, 4, 1), "u1")):
        graph.add_frames(fits)
    assert graph.get_frames().shape == (8, 2, 4, 1)
    for wrong in (np.zeros((3, 4, 2, 1), "u1"), np.zeros((3, 2, 4, 1), "f4"), np.zeros((8,), "u1")):
        with pytest.raises(spdl.ArgumentError, match=re.escape("want [n, 2, 4, 1] of uint8 for gray")):
            graph.add_frames(wrong)
    with pytest.raises(spdl.ArgumentError, match="got 1 times for 2 frames"):
        graph.add_frames(np.zeros((2, 2, 4), "u1"), pts=[1.0])
    graph.add_frames(np.zeros((2, 2, 4), "u1"), pts=[1.0, 3.0])
    assert graph.get_frames().pts == [1.0, 3.0]
    sound = spdl.io.FilterGraph("abuffer=time_base=1/8000:sample_rate=8000:sample_fmt=s16:channel_layout=mono,anull,abuffersink")
    sound.add_frames(np.arange(5, dtype="i2"))
    sound.add_frames(np.arange(5, 9, dtype="i2").reshape(4, 1))
    assert sound.get_frames().numpy()[:, 0].tolist() == list(range(9))
    with pytest.raises(spdl.ArgumentError, match=re.escape("want [n, 1] of int16 for s16")):
        sound.add_frames(np.zeros((1, 4), "i2"))


@pytest.mark.parametrize("text, kw, want", [
    ("hflip", {}, "an input of Parsed_hflip_0 is open; want buffer="),
    ("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,movie=a,buffersink", {}, 'got filter "movie"'),
    ("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,buffersink", {"threads": 0}, "threads: got 0"),
    ("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,buffersink", {"timeout": -1}, "timeout: got"),
])
def test_graphs_are_refused_by_name(text, kw, want):
    with pytest.raises(spdl.SpecError, match=want):
        spdl.io.FilterGraph(text, **kw)


def test_what_waits_in_a_graph_is_bounded():
    graph = spdl.io.FilterGraph("buffer@a=video_size=4x2:pix_fmt=gray:time_base=1/10[a];buffer@b=video_size=4x2:pix_fmt=gray:time_base=1/10[b];[a][b]hstack,buffersink",
                                max_bytes=1000)
    with pytest.raises(spdl.SampleError, match="input buffer@a is ahead of buffer@b .*add frames there first, or raise max_bytes.*of 1000 went in"):
        graph.add_frames(np.zeros((1000, 2, 4), "u1"), key="buffer@a")
    graph.add_frames(np.zeros((2, 4), "u1"), key="buffer@b")
    assert graph.get_frames().shape == (1, 2, 8, 1)


def test_frames_that_are_larger_than_what_may_wait_go_through_one_by_one():
    graph = spdl.io.FilterGraph("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,buffersink", max_bytes=5)
    frame = np.zeros((2, 4), "u1")
    for _ in range(3):
        graph.add_frames(frame)
        assert graph.get_frames().shape == (1, 2, 4, 1)
    graph.add_frames(frame)
    with pytest.raises(spdl.SampleError, match="buffersink"):
        graph.add_frames(frame)
    keeps = spdl.io.FilterGraph("buffer=video_size=4x2:pix_fmt=gray:time_base=1/10,reverse,buffersink", max_bytes=5)
    keeps.add_frames(frame)
    with pytest.raises(spdl.SampleError, match="8 bytes went in since a frame came out, want at most 5; filters that keep everything need max_bytes raised"):
        keeps.add_frames(frame)


# ---- batches


def png(array):
    Image = pytest.importorskip("PIL.Image")
    out = io.BytesIO()
    Image.fromarray(array).save(out, "PNG")
    return out.getvalue()


def test_a_batch_has_the_rows_of_its_pictures(tmp_path):
    pictures = [np.random.default_rng(i).integers(0, 256, (20 + i, 30, 3), dtype=np.uint8) for i in range(9)]
    srcs = [png(p) for p in pictures]
    (tmp_path / "a.png").write_bytes(srcs[3])
    srcs[3] = tmp_path / "a.png"
    want = np.stack([spdl.io.load_image(src, transform=[{"resize": [8, 6]}]).numpy() for src in srcs])
    for threads in (0, 1, 5):
        got = spdl.io.load_image_batch(srcs, width=6, height=8, scale_mode=None, num_threads=threads)
        np.testing.assert_array_equal(got.numpy(), want)
        assert got.rows == list(range(9)) and got.failures == {}
    np.testing.assert_array_equal(spdl.io.load_image_batch(iter(srcs), width=np.int64(6), height=8.0, scale_mode=None).numpy(), want)
    planes = spdl.io.load_image_batch(srcs, transform=[{"resize": [8, 6]}], layout="NCHW")
    np.testing.assert_array_equal(planes.numpy(), want.transpose(0, 3, 1, 2))
    assert spdl.io.load_image_batch(srcs, width=6, height=8, pix_fmt="gray").shape == (9, 8, 6, 1)
    np.testing.assert_array_equal(spdl.io.load_image_batch([png(pictures[0])] * 2, width=None, height=None).numpy(), np.stack([pictures[0]] * 2))


def test_a_batch_keeps_the_aspect_unless_told_otherwise():
    srcs = [png(np.full((4, 8, 3), 200, np.uint8)), png(np.full((8, 4, 3), 100, np.uint8))]
    padded = spdl.io.load_image_batch(srcs, width=8, height=8).numpy()[..., 0]
    want = np.zeros((2, 8, 8), np.uint8)
    want[0, 2:6], want[1, :, 2:6] = 200, 100
    np.testing.assert_array_equal(padded, want)
    for mode in ("crop", None):
        full = spdl.io.load_image_batch(srcs, width=8, height=8, scale_mode=mode).numpy()
        assert (full[0] == 200).all() and (full[1] == 100).all()


def test_a_batch_without_strict_is_as_long_as_there_are_pictures(caplog):
    good = png(np.full((4, 4, 3), 7, np.uint8))
    srcs = [b"no picture", good, "/nowhere/a.png", good]
    with caplog.at_level(logging.WARNING, logger="spdl.io"):
        got = spdl.io.load_image_batch(srcs, width=4, height=4, strict=False)
    assert got.shape == (2, 4, 4, 3) and got.rows == [1, 3] and sorted(got.failures) == [0, 2]
    assert "sample 0 of 4: " in got.failures[0] and "/nowhere/a.png" in got.failures[2] and len(caplog.records) == 2
    with pytest.raises(spdl.SampleError, match="sample 0 of 4: "):
        spdl.io.load_image_batch(srcs, width=4, height=4)
    with pytest.raises(spdl.SampleError, match="sample 0 of 1: "):
        spdl.io.load_image_batch(srcs[:1], width=4, height=4, strict=False)


@pytest.mark.parametrize("kw, error, text", [
    ({"pix_fmt": "yuv420p"}, spdl.ArgumentError, "pix_fmt='yuv420p', want \"rgb24\" or \"gray\""),
    ({"scale_mode": "fit"}, spdl.ArgumentError, "scale_mode='fit'"),
    ({"filter_desc": "hflip"}, spdl.Unsupported, "pictures go through no filters"),
    ({"device_config": 1}, spdl.Unsupported, "device_config and storage"),
    ({"layuot": "NCHW"}, spdl.SpecError, 'image.layuot: unknown key; did you mean "layout"'),
    ({"width": -4}, spdl.ArgumentError, "width=-4, want 1 or more, or None for each picture's own"),
    ({"width": 0}, spdl.ArgumentError, "width=0, want 1 or more"),
    ({"height": 2.5}, spdl.ArgumentError, "height=2.5, want a whole number"),
    ({"num_threads": 1.5}, spdl.ArgumentError, "num_threads=1.5, want a whole number"),
    ({"num_threads": -1}, spdl.SpecError, "batch.threads: got -1"),
    ({"demux_config": {}}, spdl.ArgumentError, r"want what demux_config\(\) gives"),
])
def test_a_batch_is_refused_by_name(kw, error, text):
    with pytest.raises(error, match=text):
        spdl.io.load_image_batch([b"x"], **kw)
    for none in ([], "a.png", b"x", bytearray(b"x"), 5, None):
        with pytest.raises(spdl.ArgumentError):
            spdl.io.load_image_batch(none)


# ---- configs


def test_samples_without_a_header_are_read(sound):
    samples = wave.open(io.BytesIO(sound)).readframes(RATE)
    config = spdl.io.demux_config(format="s16le", format_options={"sample_rate": "8000", "ch_layout": "stereo"})
    np.testing.assert_array_equal(spdl.io.load_audio(samples, demux_config=config).numpy(), spdl.io.load_audio(sound).numpy())
    mono = spdl.io.load_audio(samples, demux_config=spdl.io.demux_config(format="s16le"))
    assert mono.shape == (1, 2 * RATE)
    assert spdl.io.load_audio(sound, demux_config=spdl.io.demux_config(buffer_size=1 << 20)).shape == (2, RATE)


def test_a_video_is_decoded_by_as_many_threads_as_are_asked_for(video):
    want = greys(spdl.io.load_video(video))
    for threads in ("0", "2"):
        config = spdl.io.decode_config(decoder_options={"threads": threads})
        assert greys(spdl.io.load_video(video, decode_config=config)) == want
        assert greys(spdl.io.decode_packets(spdl.io.demux_video(video), decode_config=config)) == want


@pytest.mark.parametrize("call, error, text", [
    (lambda: spdl.io.demux_config(format="mp4"), spdl.Unsupported, "what has a header is found out from its bytes"),
    (lambda: spdl.io.demux_config(format_options={"a": 1}), spdl.Unsupported, r"format_options=\['a'\]"),
    (lambda: spdl.io.demux_config(format="s16le", format_options={"a": 1}), spdl.Unsupported, r"format_options \['a'\] of s16le"),
    (lambda: spdl.io.demux_config(format="s16le", format_options={"channels": "none"}), spdl.ArgumentError, "channels='none'"),
    (lambda: spdl.io.decode_config(decoder="libopenh264"), spdl.Unsupported, "decoder='libopenh264': FFmpeg's own choice"),
    (lambda: spdl.io.decode_config(decoder_options={"skip_frame": "nokey"}), spdl.Unsupported, r"decoder_options \['skip_frame'\], want threads alone"),
    (lambda: spdl.io.decode_config(decoder_options={"threads": "x"}), spdl.ArgumentError, "threads='x'"),
    (lambda: spdl.io.load_video(b"x", demux_config=spdl.io.demux_config(format="u8")), spdl.Unsupported, "read by load_audio alone"),
    (lambda: spdl.io.demux_audio(b"x", demux_config=spdl.io.demux_config(format="u8")), spdl.Unsupported, "read by load_audio alone"),
    (lambda: spdl.io.Demuxer(b"x", demux_config=spdl.io.demux_config(format="u8")), spdl.Unsupported, "read by load_audio alone"),
    (lambda: spdl.io.load_image(b"x", decode_config=spdl.io.decode_config(decoder_options={"threads": 4})), spdl.Unsupported, "a thread decodes a sound or a picture"),
    (lambda: spdl.io.load_video(b"x", decode_config="threads=4"), spdl.ArgumentError, r"decode_config is of str, want what decode_config\(\) gives"),
])
def test_configs_refuse_by_name_what_is_not_safe(call, error, text):
    with pytest.raises(error, match=text):
        call()


# ---- utils, errors


def test_what_ffmpeg_is_there_is_told():
    versions = spdl.io.utils.get_ffmpeg_versions()
    assert set(versions) == {"libavcodec", "libavformat", "libavutil", "libavfilter", "libswscale", "libswresample"}
    assert all(len(v) == 3 and v[0] > 0 for v in versions.values())
    filters = spdl.io.utils.get_ffmpeg_filters()
    assert {"hflip", "tpad", "showwaves", "hstack"} <= set(filters) and not {"movie", "color", "buffer"} & set(filters)
    assert spdl.io.utils.built_with_cuda() is False and spdl.io.utils.built_with_nvjpeg() is False
    assert isinstance(spdl.io.utils.built_with_nvcodec(), bool)
    with pytest.raises(spdl.ArgumentError, match="want a whole number"):
        spdl.io.utils.set_ffmpeg_log_level("debug")


def test_ffmpegs_messages_are_shown_where_that_is_asked_for():
    program = """if 1:
        import sys, spdl, spdl.io
        if len(sys.argv) > 1: spdl.io.utils.set_ffmpeg_log_level(int(sys.argv[1]))
        print(spdl.io.utils.get_ffmpeg_log_level())
        try: spdl.io.FilterGraph("hflip=an_option_of_none=1")
        except spdl.SpecError as error: print("an_option_of_none" in str(error))
    """
    for arguments, level, shown in (([], "-8", False), (["16"], "16", True)):
        run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120, check=True, env=os.environ)
        assert run.stdout.split() == [level, "True"] and ("an_option_of_none" in run.stderr) == shown, run.stderr


def test_errors_of_packets_name_their_file(tmp_path, sound):
    (tmp_path / "text.mp4").write_bytes(b"neither this nor that, and not at all anything else")
    (tmp_path / "sound.wav").write_bytes(sound)
    for call, path in ((lambda p: spdl.io.demux_video(p), "text.mp4"), (lambda p: spdl.io.Demuxer(p).video_codec, "text.mp4"),
                       (lambda p: spdl.io.demux_audio(p), "none.mp4"), (lambda p: spdl.io.Demuxer(p).video_codec, "sound.wav")):
        with pytest.raises(spdl.SampleError, match=re.escape(str(tmp_path / path))):
            call(tmp_path / path)


def test_names_of_spdl_that_are_not_here_say_what_is():
    for name, instead in (("NvDecDecoder", 'hardware="cuda"'), ("nv12_to_rgb", "they are RGB"), ("transfer_tensor", "docs/gpu.md"), ("cpu_storage", "docs/gpu.md"),
                          ("load_image_batch_nvjpeg", "load_image_batch"), ("to_jax", "from_dlpack"), ("to_numba", "numpy"), ("VideoFrames", "Frames"),
                          ("WAVHeader", "parse_wav"), ("AudioEncoder", "Encoder"), ("ImageCodec", "Codec")):
        with pytest.raises(AttributeError, match=f"spdl.io has no {name}; use .*{re.escape(instead)}"):
            getattr(spdl.io, name)
        assert name not in spdl.io.__all__
    for name in ("tracing", "trace_event", "trace_counter", "trace_gc"):
        with pytest.raises(AttributeError, match="use spdl trace"):
            getattr(spdl.io.utils, name)
    assert all(hasattr(spdl.io, name) for name in spdl.io.__all__)
