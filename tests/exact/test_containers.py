"""Files as muxers leave them, against PyAV (an FFmpeg of its own): which frames there are, how long the last one lasts, and windows of sounds."""

import io

import numpy as np
import pytest

import spdl.io

av = pytest.importorskip("av", reason="PyAV is not installed (requirements-bench.txt)")

FRAMES = 30


def film():
    """Frames in which a bar grows over a picture that stands still, [FRAMES, 96, 128, 3]."""
    frames = np.repeat(np.add.outer(np.arange(96), np.arange(128))[None, :, :, None], 3, axis=3).repeat(FRAMES, axis=0).astype(np.uint8)
    for i in range(FRAMES):
        frames[i, :, :4 * i] = 250
    return frames


def encoded(codec, container, *, gop=10, options=None, container_options=None, packet=None):
    """The film in memory, by PyAV; packet may change what the encoder names."""
    if codec not in av.codecs_available:
        pytest.skip(f"PyAV has no {codec}")
    file = io.BytesIO()
    with av.open(file, "w", format=container, options=container_options or {}) as out:
        stream = out.add_stream(codec, rate=24, options=options or {})
        stream.width, stream.height, stream.codec_context.gop_size = 128, 96, gop
        stream.pix_fmt = "rgb555le" if codec == "rpza" else "yuv420p"
        for i, picture in enumerate(film()):
            for p in [*stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")), *(stream.encode(None) if i == FRAMES - 1 else [])]:
                out.mux(packet(p) if packet else p)
    return file.getvalue()


def decoded(data):
    """PyAV's frames, and their times."""
    with av.open(io.BytesIO(data)) as f:
        frames = list(f.decode(video=0))
    return np.stack([fr.to_ndarray(format="rgb24").astype(int) for fr in frames]), [fr.time for fr in frames]


def load(src, **video):
    return spdl.io.load(src, {"video": {"select": {"kind": "all"}, **video}})


def same(got, want):
    """Whether frames are the others, which another swscale made RGB."""
    return got.shape == want.shape and np.abs(got.astype(int) - want).mean(axis=(1, 2, 3)).max() < 2


def test_an_mp4_that_begins_at_a_recovery_point_has_its_frames(tmp_path):
    """Its first packet is no IDR picture, so its table does not say what an index needs; the packet is not lost for that."""
    whole = encoded("libx264", "mp4", options={"bf": "2", "x264-params": "open-gop=1:scenecut=0:threads=1"})
    path = tmp_path / "cut.mp4"
    with av.open(io.BytesIO(whole)) as f, av.open(str(path), "w") as out:
        stream = out.add_stream_from_template(f.streams.video[0])
        packets = [p for p in f.demux(video=0) if p.size]
        begin = [i for i, p in enumerate(packets) if p.is_keyframe][1]
        at = packets[begin].pts
        for p in packets[begin:]:
            p.stream = stream
            out.mux(p)
    frames, times = decoded(whole)
    first = next(i for i, t in enumerate(times) if t >= at * packets[begin].time_base)
    for src in (path, path.read_bytes()):
        assert same(load(src)["video"].numpy(), frames[first:])
        assert same(spdl.io.sample_decode_video(src, [3]).numpy(), frames[first + 3:first + 4])


@pytest.mark.parametrize("container", ["ivf", "matroska", "mp4"])
def test_frames_of_av1_without_the_first_one_have_its_header(container):
    """Where each frame stands for itself and only the first packet is called a key (FFmpeg's of SVT-AV1, with a key frame each), that packet's frame is
    left out, but not the header of the sequence."""
    try:
        data = spdl.io.save_video(None, film(), 24, codec="libsvtav1", format=container, options={"g": 1, "preset": 12})
    except spdl.Unsupported as error:
        pytest.skip(str(error))
    want, _ = decoded(data)
    for i in (1, 7, FRAMES - 1):
        assert same(spdl.io.sample_decode_video(data, [i]).numpy(), want[i:i + 1])


@pytest.mark.parametrize("codec, between", [("libx264", "2"), ("libx264", "0"), ("libvpx-vp9", None)])
def test_the_last_frame_of_a_fragmented_mp4_lasts_as_its_fragment_says(tmp_path, codec, between):
    data = encoded(codec, "mp4", options={"bf": between} if between else {}, container_options={"movflags": "frag_keyframe+empty_moov+default_base_moof"})
    path = tmp_path / "a.mp4"
    path.write_bytes(data)
    want, times = decoded(data)
    for src in (data, path):
        got = load(src)
        np.testing.assert_allclose(got["pts"].numpy(), times, atol=1e-9)
        np.testing.assert_allclose(got["duration"].numpy(), 1 / 24, atol=1e-9)
        last = load(src, select={"kind": "times", "times": [times[-1] + 0.9 / 24]})["video"].numpy()
        assert same(last, want[-1:])
        assert len(load(src, select={"kind": "fps", "rate": 24})["video"].numpy()) == FRAMES


def test_a_movie_without_a_list_of_key_frames_is_decoded_from_its_first():
    """Every frame is called a key then; a decoder that does not say which are is not entered at them."""
    def key(packet):
        packet.is_keyframe = True
        return packet

    data = encoded("rpza", "mov", gop=250, packet=key)
    want, _ = decoded(data)
    for i in (1, 7, FRAMES - 1):
        assert same(spdl.io.sample_decode_video(data, [i]).numpy(), want[i:i + 1])
    assert same(spdl.io.load_video(data, (0.5, 0.7)).numpy(), want[12:17])
    assert same(spdl.io.decode_packets(spdl.io.demux_video(data, (0.5, 0.7))).numpy(), want[12:17])


def test_a_part_without_a_key_frame_is_refused_where_key_frames_are_asked_for():
    data = encoded("libx264", "mp4", gop=FRAMES)
    assert len(load(data, select={"kind": "keyframes"})["video"].numpy()) == 1
    with pytest.raises(spdl.SampleError, match="no key frame is among frames 12 to 16, from 0.5s to .*choose by another kind, or a longer window"):
        load(data, select={"kind": "keyframes"}, window={"start": "0.5s", "duration": "0.2s"})


@pytest.mark.parametrize("container", ["mp4", "matroska"])
def test_frames_are_as_large_as_the_codec_says_where_the_container_says_otherwise(tmp_path, container):
    """A bitstream filter that crops changes what the codec says, and not the container's header."""
    codec = spdl.io.demux_video(encoded("libx264", "mp4", options={"bf": "2"}))
    muxer = spdl.io.Muxer(None, format=container)
    muxer.add_remux_stream(codec.codec, bsf="h264_metadata=crop_right=6:crop_bottom=4")
    with muxer.open():
        muxer.write(0, codec)
    path = tmp_path / "cropped"
    path.write_bytes(muxer.getvalue())
    want, _ = decoded(path.read_bytes())
    assert want.shape == (FRAMES, 92, 122, 3)
    assert spdl.io.probe_video(path)["width"] == 122
    for src in (path, path.read_bytes()):
        assert same(spdl.io.load_video(src).numpy(), want)
        assert same(spdl.io.sample_decode_video(src, [9]).numpy(), want[9:10])
        assert same(spdl.io.decode_packets(spdl.io.demux_video(src)).numpy(), want)


def test_without_an_index_the_last_frame_is_the_one_on_show_behind_a_recovery_point():
    """FFmpeg's decoder holds back what follows such an entry, and the frame before the last was given in its place."""
    data = encoded("libx264", "mp4", gop=12, options={"bf": "5", "preset": "ultrafast", "x264-params": "open-gop=1:scenecut=0:threads=1"})
    want, times = decoded(data)
    for i in (FRAMES - 1, FRAMES - 2, 25, 3):
        got = load(data, select={"kind": "times", "times": [times[i] + 0.01]}, seek="approximate")["video"].numpy()
        assert same(got, want[i:i + 1])


@pytest.mark.parametrize("codec, container, rate", [("adpcm_yamaha", "wav", 44100), ("adpcm_ima_qt", "aiff", 22050), ("g723_1", "wav", 8000)])
def test_a_window_of_packets_is_the_files_where_a_codec_remembers_all_that_came_before(codec, container, rate):
    if codec not in av.codecs_available:
        pytest.skip(f"PyAV has no {codec}")
    file, n = io.BytesIO(), 2 * rate
    with av.open(file, "w", format=container) as out:
        stream = out.add_stream(codec, rate=rate, layout="mono", **({"bit_rate": 6300} if codec == "g723_1" else {}))
        wave = 12000 * np.sin(np.arange(n) ** 1.3 / 200) + np.random.default_rng(7).normal(0, 3000, n)
        frame = av.AudioFrame.from_ndarray(wave.astype(np.int16)[None], format="s16", layout="mono")
        frame.sample_rate = rate
        for f in [*av.AudioResampler(format=stream.codec_context.format, layout="mono", rate=rate, frame_size=stream.codec_context.frame_size).resample(frame), None]:
            out.mux(stream.encode(f))
    data = file.getvalue()
    with av.open(io.BytesIO(data)) as f:
        want = np.concatenate([fr.to_ndarray().reshape(1, -1) for fr in f.decode(audio=0)], axis=1) / np.float32(32768)
    begin, end = int(1.4 * rate), int(1.5 * rate)
    packets = spdl.io.demux_audio(data, (begin / rate, end / rate))
    np.testing.assert_allclose(spdl.io.decode_packets(packets).numpy(), want[:, begin:end], atol=1e-7)


def resized(data, container, width, height):
    """The file whose header says another size of the pictures, which are of 128 x 96."""
    data = bytearray(data)
    if container == "mp4":
        at = next(data.index(kind, data.index(b"stsd")) for kind in (b"hev1", b"hvc1", b"av01") if data.count(kind, data.index(b"stsd"))) + 4 + 24  # VisualSampleEntry, ISO/IEC 14496-12, 12.1.3
        assert data[at:at + 4] == (128).to_bytes(2, "big") + (96).to_bytes(2, "big")
        data[at:at + 4] = width.to_bytes(2, "big") + height.to_bytes(2, "big")
    else:
        at = data.index(b"\xb0\x81\x80\xba\x81\x60")  # PixelWidth, PixelHeight
        data[at + 2], data[at + 5] = width, height
    return bytes(data)


@pytest.mark.parametrize("container", ["mp4", "matroska"])
@pytest.mark.parametrize("codec, options", [("libx265", {"x265-params": "log-level=none"}), ("libsvtav1", {"preset": "10"})])
def test_hevc_and_av1_are_as_large_as_they_say(tmp_path, codec, options, container):
    data = encoded(codec, container, options=options)
    path = tmp_path / "resized"
    path.write_bytes(resized(data, container, 100, 70))
    want, _ = decoded(path.read_bytes())
    assert want.shape == (FRAMES, 96, 128, 3)
    assert spdl.io.probe_video(path)["width"] == 128
    for src in (path, path.read_bytes()):
        assert same(spdl.io.load_video(src).numpy(), want)
        assert same(spdl.io.sample_decode_video(src, [9]).numpy(), want[9:10])
        assert same(spdl.io.decode_packets(spdl.io.demux_video(src)).numpy(), want)
