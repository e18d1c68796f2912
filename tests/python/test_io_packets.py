"""spdl.io: demuxers, packets and what decodes them."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import spdl
import spdl.io


def pictures(n, height=48, width=64):
    t, y, x = np.mgrid[0:n, 0:height, 0:width]
    return np.stack([128 + 90 * np.sin(x / 9 + t / 3 + k) * np.cos(y / 11 - t / 5) for k in range(3)], axis=-1).astype(np.uint8)


def tone(n, channels=2):
    return np.stack([np.round(9000 * np.sin(np.arange(n) * 0.05 * (c + 1))) / 32768 for c in range(channels)]).astype(np.float32)


def needs_ffmpeg():
    try:
        spdl.io.save_image(None, pictures(1)[0], codec="png")
    except spdl.Unsupported as error:
        if "no FFmpeg" in str(error):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory):
    """What Go opens once for the whole process is there before a test counts descriptors."""
    path = tmp_path_factory.mktemp("warm") / "a.wav"
    spdl.io.save_audio(path, tone(8), 8000)
    spdl.io.load_audio(path)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """4 s of pictures, a key frame a second, and of sound."""
    needs_ffmpeg()
    path = tmp_path_factory.mktemp("packets") / "clip.mp4"
    muxer = spdl.io.Muxer(path)
    video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48, frame_rate=25, gop_size=25), encoder="libx264")
    audio = muxer.add_encode_stream(spdl.io.audio_encode_config(num_channels=2, sample_rate=16000), encoder="aac")
    with muxer.open():
        video.encode(pictures(100))
        audio.encode(tone(64000))
    return path


def test_packets_decode_to_what_the_file_decodes_to(clip):
    packets = spdl.io.demux_video(clip)
    assert len(packets) == 100 and packets.timestamp is None
    np.testing.assert_array_equal(spdl.io.decode_packets(packets).numpy(), spdl.io.load_video(clip).numpy())
    np.testing.assert_array_equal(spdl.io.decode_packets(packets, num_frames=7).numpy(), spdl.io.load_video(clip).numpy()[:7])
    resized = {"layout": "NTCHW", "transform": [{"resize": [8, 8]}]}
    np.testing.assert_array_equal(spdl.io.decode_packets(packets, **resized).numpy(), spdl.io.load_video(clip, **resized).numpy())
    sound = spdl.io.demux_audio(clip)
    near = dict(rtol=0, atol=2e-6)  # a file's AAC has a decoder of our own, packets have FFmpeg's, which rounds elsewhere
    np.testing.assert_allclose(spdl.io.decode_packets(sound).numpy(), spdl.io.load_audio(clip).numpy(), **near)
    np.testing.assert_allclose(spdl.io.decode_packets(sound, rate=8000).numpy(), spdl.io.load_audio(clip, sample_rate=8000).numpy(), **near)


def test_packets_take_what_the_file_takes(clip):
    """decode_packets has load_audio's and load_video's arguments."""
    video, sound, picture = spdl.io.demux_video(clip), spdl.io.demux_audio(clip), spdl.io.demux_image(spdl.io.save_image(None, pictures(1)[0], codec="png"))
    near = dict(rtol=0, atol=2e-6)  # as above
    for more in ({"sample_rate": 8000}, {"num_channels": 1}, {"timestamp": (1.0, 1.5)}, {"timestamp": (1, None), "sample_rate": np.int64(8000), "num_channels": 1}):
        np.testing.assert_allclose(spdl.io.decode_packets(sound, **more).numpy(), spdl.io.load_audio(clip, **more).numpy(), **near)
    np.testing.assert_array_equal(spdl.io.decode_packets(video, timestamp=(1.0, 1.5)).numpy(), spdl.io.load_video(clip, (1.0, 1.5)).numpy())
    np.testing.assert_array_equal(spdl.io.decode_packets(spdl.io.demux_video(clip, (1, 2)), timestamp=(1.2, 1.5)).numpy(), spdl.io.load_video(clip, (1.2, 1.5)).numpy())
    for all_ in (None, -1):
        assert spdl.io.decode_packets(video, None, None, num_frames=all_).num_frames == 100
    np.testing.assert_array_equal(spdl.io.decode_packets(picture, filter_desc=None, num_frames=-1).numpy(), pictures(1)[0])
    for packets, more, error, text in (
        (video, {"num_frames": 0}, spdl.ArgumentError, "num_frames=0, want 1 or more, or -1 for all"),
        (video, {"num_frames": -5}, spdl.ArgumentError, "num_frames=-5, want 1 or more"),
        (video, {"num_frames": 1.5}, spdl.ArgumentError, "num_frames=1.5, want a whole number"),
        (video, {"sample_rate": 8000}, spdl.ArgumentError, "sample_rate for packets of video, want it of audio alone"),
        (sound, {"num_frames": 5}, spdl.ArgumentError, "num_frames for packets of audio, want it of video alone"),
        (sound, {"sample_rate": 8000.5}, spdl.ArgumentError, "sample_rate=8000.5, want a whole number"),
        (picture, {"timestamp": (0, 1)}, spdl.ArgumentError, "timestamp for packets of image, want it of video or audio alone"),
        (picture, {"filter_desc": "hflip"}, spdl.Unsupported, "decode_packets: filter_desc: pictures go through no filters"),
        (b"packets", {}, spdl.ArgumentError, "got bytes, want AudioPackets"),
        *((take(clip, (1, 2)), {"timestamp": window}, spdl.SpecError, f"{kind}.window: got .*, and the packets were taken for 1s to 2s; demux that window")
          for kind, take in (("video", spdl.io.demux_video), ("audio", spdl.io.demux_audio)) for window in ((0, 1), (0.5, 1.5), (1.5, 2.5), (3, None))),
    ):
        with pytest.raises(error, match=text):
            spdl.io.decode_packets(packets, **more)


@pytest.mark.parametrize("window", [(1.0, 1.5), (Decimal("2.2"), Fraction(5, 2)), ("3.5", None)])
def test_a_window_is_what_was_asked_for_and_no_more(clip, window):
    seconds = tuple(None if t is None else float(Fraction(t)) for t in window)
    packets = spdl.io.demux_video(clip, window)
    assert len(packets) < 60
    assert packets.timestamp == pytest.approx((seconds[0], seconds[1] or float("inf")))
    want = spdl.io.load_video(clip, timestamp=seconds)
    np.testing.assert_array_equal(spdl.io.decode_packets(packets).numpy(), want.numpy())
    assert all(seconds[0] <= t < (seconds[1] or 9) for t in packets.get_timestamps())
    assert packets.get_timestamps() == sorted(packets.get_timestamps())
    assert len(packets.get_timestamps(raw=True)) == len(packets)
    sound = spdl.io.decode_packets(spdl.io.demux_audio(clip, window))
    assert sound.shape == spdl.io.load_audio(clip, timestamp=seconds).shape


@pytest.mark.parametrize("window", [(0.0, 0.033), (0.033, 0.05), (0.1, 0.11), (0.04, 0.06)])
def test_a_window_of_one_frame_is_that_where_packets_do_not_say_how_long_they_are(window):
    clip = spdl.io.save_video(None, pictures(6), 30, codec="flashsv", format="flv")
    got = spdl.io.decode_packets(spdl.io.demux_video(clip, window)).numpy()
    np.testing.assert_array_equal(got, spdl.io.load_video(clip, timestamp=window).numpy())
    assert len(got) == 1


@pytest.mark.parametrize("window", [(0.2, 0.9), (2.5, 3.5), (4.2, None)])
def test_a_window_of_sounds_that_were_joined_is_that_of_the_file(window):
    joined = 2 * spdl.io.save_audio(None, tone(66150), 22050, codec="libvorbis", format="ogg")
    want = spdl.io.load_audio(joined, timestamp=window).numpy()
    got = spdl.io.decode_packets(spdl.io.demux_audio(joined, window)).numpy()
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_sampled_frames_are_the_files_in_any_order(clip):
    all_frames = spdl.io.load_video(clip).numpy()
    packets = spdl.io.demux_video(clip)
    np.testing.assert_array_equal(spdl.io.sample_decode_video(packets, [99, 0, 50, 50]).numpy(), all_frames[[99, 0, 50, 50]])
    np.testing.assert_array_equal(spdl.io.sample_decode_video(packets, [3]).numpy(), all_frames[[3]])
    with pytest.raises(spdl.SampleError, match="100"):
        spdl.io.sample_decode_video(packets, [100])


def test_streaming_decode_gives_all_frames_in_chunks(clip):
    chunks = [chunk.numpy() for chunk in spdl.io.streaming_decode_packets(spdl.io.demux_video(clip), 33)]
    assert [len(chunk) for chunk in chunks] == [33, 33, 33, 1]
    np.testing.assert_array_equal(np.concatenate(chunks), spdl.io.load_video(clip).numpy())


def test_packets_tell_what_they_are(clip):
    video, audio = spdl.io.demux_video(clip), spdl.io.demux_audio(clip)
    assert (video.width, video.height, video.pix_fmt, video.frame_rate) == (64, 48, "yuv420p", (25, 1))
    assert (audio.sample_rate, audio.num_channels, audio.sample_fmt) == (16000, 2, "fltp")
    assert video.codec.name == "h264" and audio.codec.name == "aac" and video.codec.time_base[1] > 0
    first = video.packet(0)
    assert first["key"] and first["pts"] == 0 and len(first["data"]) > 50
    assert [i for i in range(100) if video.packet(i)["key"]] == [0, 25, 50, 75]
    assert repr(video[:5]) == "<spdl.io.VideoPackets 5 of h264>"
    with pytest.raises(AttributeError, match="sample_rate"):
        video.sample_rate
    with pytest.raises(AttributeError, match="it has bit_rate"):
        video.codec.profile


def test_a_slice_outlives_the_packets_and_the_source(clip):
    data = bytearray(clip.read_bytes())
    group = spdl.io.demux_video(data)[25:50]
    data[:] = bytes(len(data))
    gc.collect()
    assert len(group) == 25
    np.testing.assert_array_equal(spdl.io.decode_packets(group.clone()).numpy(), spdl.io.load_video(clip).numpy()[25:50])
    assert len(group[3:3]) == 0 and len(group[20:3]) == 0


def test_a_demuxer_streams_one_or_several(clip):
    with spdl.io.Demuxer(clip) as demuxer:
        assert demuxer.has_audio() and demuxer.video_codec.name == "h264" and demuxer.audio_codec.sample_rate == 16000
        video, audio = demuxer.video_stream_index, demuxer.audio_stream_index
        assert {video, audio} == {0, 1}
        assert [len(p) for p in demuxer.streaming_demux(video, num_packets=30)] == [30, 30, 30, 10]
        seconds = [p.get_timestamps() for p in demuxer.streaming_demux(audio, duration=1)]
        assert sum(map(len, seconds)) == len(demuxer.demux_audio()) and len(seconds) >= 4
        pieces = list(demuxer.streaming_demux([video, audio], duration=2))
        assert set(pieces[0]) == {video, audio} and isinstance(pieces[0][audio], spdl.io.AudioPackets)
        assert sum(len(p[video]) for p in pieces if video in p) == 100
        assert len(next(demuxer.streaming_demux(num_packets=5))) == 5
    with pytest.raises(spdl.ArgumentError, match="closed"):
        demuxer.demux_video()


def test_threads_decode_the_same_packets(clip):
    packets, want, right = spdl.io.demux_video(clip), spdl.io.load_video(clip).numpy(), []

    def run():
        for _ in range(3):
            right.append(np.array_equal(spdl.io.decode_packets(packets).numpy(), want))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 12


def test_bitstream_filters_are_applied(clip):
    filtered = spdl.io.apply_bsf(spdl.io.demux_video(clip), "h264_mp4toannexb")
    assert filtered.packet(0)["data"][:4] == b"\0\0\0\1"
    assert spdl.io.demux_video(clip, (1, 2), bsf="h264_mp4toannexb").packet(0)["data"][:4] == b"\0\0\0\1"
    np.testing.assert_array_equal(spdl.io.decode_packets(filtered).numpy(), spdl.io.load_video(clip).numpy())


def test_a_picture_is_a_packet(tmp_path):
    needs_ffmpeg()
    picture = pictures(1)[0]
    spdl.io.save_image(tmp_path / "a.png", picture)
    for src in (tmp_path / "a.png", (tmp_path / "a.png").read_bytes(), memoryview((tmp_path / "a.png").read_bytes())):
        packets = spdl.io.demux_image(src)
        assert len(packets) == 1 and not hasattr(packets, "frame_rate")
        with pytest.raises(AttributeError, match="has no attribute 'width'; decode_packets"):
            packets.width
        np.testing.assert_array_equal(spdl.io.decode_packets(packets).numpy(), picture)
    assert spdl.io.load_image(packets, transform=[{"resize": [4, 4]}]).shape == (4, 4, 3)
    with pytest.raises(spdl.SampleError, match="nowhere"):
        spdl.io.demux_image("/nowhere.png")


def test_frames_are_converted_to_one_batch(clip):
    packets = spdl.io.demux_video(clip)
    clips = [spdl.io.sample_decode_video(packets, [i, i + 1]) for i in (0, 40)]
    batch = spdl.io.convert_frames(clips)
    assert batch.shape == (2, 2, 48, 64, 3)
    np.testing.assert_array_equal(batch.numpy()[1], clips[1].numpy())
    assert spdl.io.convert_frames(clips[0]) is clips[0]
    assert spdl.io.to_numpy(batch).base is not None
    labels = spdl.io.convert_array(np.arange(6, dtype=np.int64).reshape(2, 3))
    assert labels.numpy().tolist() == [[0, 1, 2], [3, 4, 5]] and labels._address % 64 == 0
    with pytest.raises(spdl.ArgumentError, match="want one shape"):
        spdl.io.convert_frames([clips[0], spdl.io.sample_decode_video(packets, [0])])
    with pytest.raises(spdl.ArgumentError, match="want an array"):
        spdl.io.convert_frames([])


@pytest.mark.parametrize("num_frames", [0, 7, 100])
def test_a_decoder_gives_the_frames_of_packets_as_they_come(clip, num_frames):
    demuxer = spdl.io.Demuxer(clip)
    decoder = spdl.io.Decoder(demuxer.video_codec, transform=[{"resize": [24, 32]}])
    decoder.set_buffer_size(num_frames)
    chunks = []
    for packets in demuxer.streaming_demux(demuxer.video_stream_index, num_packets=9):
        chunks += [frames.numpy() for frames in decoder.streaming_decode_packets(packets)]
    early = sum(map(len, chunks))
    chunks += [frames.numpy() for frames in decoder.flush()]
    np.testing.assert_array_equal(np.concatenate(chunks), spdl.io.load_video(clip, transform=[{"resize": [24, 32]}]).numpy())
    assert early > 80 or num_frames == 100  # they do not wait for the end
    assert num_frames == 0 or {len(chunk) for chunk in chunks[:-1]} <= {num_frames}


def test_a_decoder_gives_the_samples_of_packets_as_they_come(clip):
    demuxer = spdl.io.Demuxer(clip)
    for filter_desc in (None, "aresample=8000"):
        decoder = spdl.io.Decoder(demuxer.audio_codec, filter_desc=filter_desc)
        chunks = [s.numpy() for p in demuxer.streaming_demux(demuxer.audio_stream_index, duration=0.5) for s in decoder.streaming_decode_packets(p)]
        chunks += [samples.numpy() for samples in decoder.flush()]
        whole = spdl.io.load_audio(clip, filter_desc=filter_desc).numpy()
        np.testing.assert_allclose(np.concatenate(chunks, axis=1), whole, rtol=0, atol=0 if filter_desc else 2e-6)  # as above


def test_frames_are_those_that_pyav_decodes_packet_by_packet(clip):
    av = pytest.importorskip("av", reason="PyAV is not installed")
    with av.open(str(clip)) as container:
        stream = container.streams.video[0]
        want = [frame.to_ndarray(format="rgb24") for packet in container.demux(stream) for frame in packet.decode()]
    decoder, got = spdl.io.Decoder(codec_of(clip)), []
    for packets in spdl.io.Demuxer(clip).streaming_demux(0, num_packets=1):
        got += [frames.numpy() for frames in decoder.streaming_decode_packets(packets)]
    got = np.concatenate(got + [frames.numpy() for frames in decoder.flush()])
    assert got.shape == np.stack(want).shape
    off = np.abs(got.astype(int) - np.stack(want))
    assert off.mean(axis=(1, 2, 3)).max() < 1  # colours are rounded in more than one way; the next frame is 3 and more off
    assert np.abs(got[1:].astype(int) - np.stack(want)[:-1]).mean(axis=(1, 2, 3)).min() > 3


def test_a_filter_is_kept_open_from_piece_to_piece(clip):
    demuxer = spdl.io.Demuxer(clip)
    want = spdl.io.apply_bsf(demuxer.demux_video(), "h264_mp4toannexb")
    for ends in (False, True):
        bsf, got = spdl.io.BSF(demuxer.video_codec, "h264_mp4toannexb"), []
        pieces = list(demuxer.streaming_demux(demuxer.video_stream_index, num_packets=30))
        for i, packets in enumerate(pieces):
            filtered = bsf.filter(packets, flush=ends and i + 1 == len(pieces))
            got += [filtered.packet(k) for k in range(len(filtered))]
        assert got == [want.packet(k) for k in range(len(want))]
        if not ends:
            assert bsf.flush() is None
        with pytest.raises(spdl.ArgumentError, match="was flushed"):
            bsf.filter(pieces[0])
    sized = spdl.io.BSF(demuxer.audio_codec, "aac_adtstoasc")
    assert len(sized.filter(demuxer.demux_audio())) == len(demuxer.demux_audio())


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_packets_are_pickled_with_all_that_decoding_them_needs(clip, protocol):
    video, audio = spdl.io.demux_video(clip, (1.2, 2.0)), spdl.io.demux_audio(clip)
    for packets in (video, audio, video[:7], spdl.io.demux_image(b"no picture")):
        back = pickle.loads(pickle.dumps(packets, protocol))
        assert type(back) is type(packets) and repr(back) == repr(packets) and back.timestamp == packets.timestamp
        if not isinstance(packets, spdl.io.ImagePackets):
            assert back.info == packets.info and [back.packet(i) for i in range(len(back))] == [packets.packet(i) for i in range(len(packets))]
            np.testing.assert_array_equal(spdl.io.decode_packets(back).numpy(), spdl.io.decode_packets(packets).numpy())
    assert pickle.loads(pickle.dumps(video.codec, protocol)).name == "h264"


def test_buffers_of_a_pickle_travel_out_of_band(clip):
    packets, buffers = spdl.io.demux_video(clip), []
    small = pickle.dumps(packets, 5, buffer_callback=buffers.append)
    assert len(small) < 200 and len(buffers) == 1
    again = pickle.loads(small, buffers=[bytes(buffers[0].raw())])
    np.testing.assert_array_equal(spdl.io.decode_packets(again).numpy(), spdl.io.load_video(clip).numpy())


def test_packets_are_decoded_in_another_process(clip, tmp_path):
    (tmp_path / "packets").write_bytes(pickle.dumps(spdl.io.demux_video(clip, (1, 1.2))))
    program = "import pickle, sys, spdl.io; print(spdl.io.decode_packets(pickle.load(open(sys.argv[1], 'rb'))).numpy().sum())"
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "packets")], capture_output=True, text=True, timeout=300, check=True)
    assert int(done.stdout) == spdl.io.load_video(clip, timestamp=(1, 1.2)).numpy().sum()


def test_copies_of_packets_share_them(clip):
    packets = spdl.io.demux_video(clip, (1, 2))
    for made in (copy.copy(packets), copy.deepcopy(packets), copy.deepcopy({"a": [packets]})["a"][0]):
        assert type(made) is spdl.io.VideoPackets and made.info == packets.info and len(made) == len(packets)
        assert made._packet(0).data == packets._packet(0).data  # where they lie


def codec_of(clip):
    return spdl.io.Demuxer(clip).video_codec


def flushed(clip):
    decoder = spdl.io.Decoder(codec_of(clip))
    assert len(list(decoder.streaming_decode_packets(spdl.io.demux_video(clip)))) > 0
    list(decoder.flush())
    return decoder


@pytest.mark.parametrize("call, error, text", [
    (lambda clip: spdl.io.demux_video("/nowhere.mp4"), spdl.SampleError, "no such file"),
    (lambda clip: spdl.io.demux_video(b"no container, only some words of text"), spdl.SampleError, "no container"),
    (lambda clip: spdl.io.demux_video(b""), spdl.SampleError, "no bytes"),
    (lambda clip: spdl.io.demux_audio(spdl.io.save_video(None, pictures(2), 25, format="matroska")), spdl.SampleError, "no such stream"),
    (lambda clip: spdl.io.demux_video(clip.read_bytes()[:2000]), spdl.SampleError, "stop early"),
    (lambda clip: spdl.io.demux_video(clip, (3, 2)), spdl.ArgumentError, "timestamp: got 3 to 2 s, want an end after the start"),
    (lambda clip: spdl.io.decode_packets(spdl.io.demux_video(clip, (99, 100))), spdl.SampleError, "no frame is on show in the window"),
    (lambda clip: spdl.io.decode_packets(spdl.io.demux_video(clip)[:0]), spdl.SampleError, "no bytes"),
    (lambda clip: spdl.io.decode_packets(spdl.io.demux_video(clip), lay_out=1), spdl.SpecError, "lay_out"),
    (lambda clip: spdl.io.load_audio(spdl.io.demux_video(clip)), spdl.SampleError, "packets are of another kind"),
    (lambda clip: spdl.io.load_image(spdl.io.demux_video(clip)), spdl.SpecError, "want video or audio"),
    (lambda clip: spdl.io.apply_bsf(spdl.io.demux_video(clip), "h264_mp5"), spdl.Unsupported, "h264_mp5"),
    (lambda clip: spdl.io.apply_bsf(spdl.io.demux_video(clip), "vp9_superframe"), spdl.Unsupported, "vp9_superframe"),
    (lambda clip: spdl.io.demux_video(clip)[::2], spdl.ArgumentError, "without a step"),
    (lambda clip: spdl.io.demux_video(clip).packet(100), IndexError, "packet 100 of 100; want -100 to 99"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux(0), spdl.ArgumentError, "want one of them above 0"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux(0, duration=1, num_packets=1), spdl.ArgumentError, "want one of them above 0"),
    (lambda clip: next(spdl.io.Demuxer(clip).streaming_demux(7, num_packets=1)), spdl.SampleError, "no such stream"),
    (lambda clip: spdl.io._packets._of_bytes(b"RIFF"), spdl.SampleError, "want bytes that packets were made into"),
    (lambda clip: pickle.loads(pickle.dumps(spdl.io.demux_video(clip)).replace(b"SPDLPKT1", b"SPDLPKT2")), spdl.SampleError, 'begin with "SPDLPKT2"'),
    (lambda clip: spdl.io.demux_video(clip).packet(1.5), spdl.ArgumentError, "packet: number=1.5, want a whole number"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux(0, duration=float("inf")), spdl.ArgumentError, "duration=inf, .* and finite"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux([], num_packets=1), spdl.ArgumentError, "no stream is named, want one or more"),
    (lambda clip: spdl.io.apply_bsf(clip, "null"), spdl.ArgumentError, "apply_bsf: got PosixPath, want AudioPackets or VideoPackets, as demux_video"),
    (lambda clip: spdl.io.BSF(codec_of(clip), "null").filter(clip), spdl.ArgumentError, "BSF.filter: got PosixPath, want AudioPackets or VideoPackets"),
    (lambda clip: spdl.io.Decoder(codec_of(clip)).streaming_decode_packets(clip), spdl.ArgumentError, "Decoder: got PosixPath, want AudioPackets or VideoPackets"),
    (lambda clip: spdl.io.VideoDecoder(clip, dimension_order="NHWC"), spdl.ArgumentError, "VideoDecoder: a codec of PosixPath, want .*; load_video, sample_decode_video and load_audio take a file"),
    (lambda clip: spdl.io.AudioDecoder(clip), spdl.ArgumentError, "AudioDecoder: a codec of PosixPath, want .*load_audio take a file"),
    (lambda clip: spdl.io.Decoder(clip), spdl.ArgumentError, "want Demuxer.video_codec"),
    (lambda clip: spdl.io.Decoder(codec_of(clip), select={"kind": "every", "step": 2}), spdl.SpecError, "video.select: is of a whole video"),
    (lambda clip: spdl.io.Decoder(codec_of(clip), filter_desc="movie=a"), spdl.SpecError, "video.filter"),
    (lambda clip: spdl.io.Decoder(spdl.io.Demuxer(clip).audio_codec, rate=8000), spdl.SpecError, "filter: aresample=8000"),
    (lambda clip: spdl.io.Decoder(codec_of(clip)).streaming_decode_packets(spdl.io.demux_audio(clip)), spdl.ArgumentError, "given packets of aac"),
    (lambda clip: flushed(clip).streaming_decode_packets(spdl.io.demux_video(clip)), spdl.ArgumentError, "was flushed; open another"),
    (lambda clip: flushed(clip).set_buffer_size(3), spdl.ArgumentError, "packets were decoded already"),
    (lambda clip: spdl.io.BSF(clip, "null"), spdl.ArgumentError, "a codec of"),
    (lambda clip: copy.copy(spdl.io.BSF(codec_of(clip), "null")), spdl.Unsupported, "pickle or copy BSF: .*in C; make another"),
    (lambda clip: copy.deepcopy(spdl.io.Decoder(codec_of(clip))), spdl.Unsupported, "pickle or copy VideoDecoder"),
    (lambda clip: pickle.dumps(spdl.io.Decoder(codec_of(clip))), spdl.Unsupported, "pickle or copy VideoDecoder"),
    (lambda clip: spdl.io.apply_bsf(spdl.io.demux_video(clip), "null\0x"), spdl.ArgumentError, "apply_bsf: bsf .*has a zero byte in it"),
    (lambda clip: spdl.io.demux_image(f"{clip}\0"), spdl.ArgumentError, "has a zero byte in it"),
    (lambda clip: spdl.io.demux_video(f"{clip}\0"), spdl.ArgumentError, "has a zero byte in it"),
    (lambda clip: spdl.io.decode_packets(spdl.io.demux_video(clip), num_frames=1.5), spdl.ArgumentError, "num_frames=1.5, want a whole number"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux(0.5, num_packets=1), spdl.ArgumentError, "a stream's number=0.5, want a whole number"),
    (lambda clip: spdl.io.Demuxer(clip).streaming_demux(0, num_packets=1.5), spdl.ArgumentError, "num_packets=1.5, want a whole number"),
    (lambda clip: spdl.io.Decoder(codec_of(clip)).set_buffer_size(2.5), spdl.ArgumentError, "num_frames=2.5, want a whole number"),
    (lambda clip: spdl.io.BSF(codec_of(clip), "h264_mp5"), spdl.Unsupported, "h264_mp5"),
    (lambda clip: spdl.io.BSF(codec_of(clip), "null").filter(spdl.io.demux_audio(clip)), spdl.ArgumentError, "the filter is given packets of aac"),
])
def test_refusals_say_what_is_wrong(clip, call, error, text):
    with pytest.raises(error, match=text):
        call(clip)


def test_three_thousand_opens_leave_nothing(clip):
    """Neither memory nor descriptors: of a piece that is demuxed, sliced, filtered and given up."""

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    data = spdl.io.save_video(None, pictures(3, 16, 16), 25, codec="mpeg4", format="matroska")

    def once(i):
        packets = spdl.io.demux_video(data)
        assert len(packets[1:]) == 2
        if i % 10 == 0:
            spdl.io.decode_packets(packets)
        if i % 10 == 1:
            decoder = spdl.io.Decoder(packets.codec)
            next(decoder.streaming_decode_packets(packets))
            spdl.io.BSF(packets.codec, "null").filter(packets)
        if i % 10 == 2:
            pickle.loads(pickle.dumps(packets))

    for i in range(1000):
        once(i)
    gc.collect()
    descriptors, growth = len(os.listdir("/proc/self/fd")), []
    for _ in range(5):
        before = resident()
        for i in range(400):
            once(i)
        gc.collect()
        growth.append(resident() - before)
    assert min(growth) < 1 << 20, growth  # a leak grows in every round; allocators and huge pages, in some
    assert len(os.listdir("/proc/self/fd")) <= descriptors
