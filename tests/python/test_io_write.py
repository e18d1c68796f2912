"""spdl.io: what writes media, read again by independent readers and by spdl itself."""

from __future__ import annotations

import copy
import io
import os
import wave

import numpy as np
import pytest
import spdl
import spdl.io
from spdl.io import _write
from test_io_packets import engine, needs_ffmpeg, pictures, tone  # noqa: F401, a fixture for all tests here


def test_a_wav_has_the_samples_and_needs_no_ffmpeg(tmp_path):
    samples = tone(1001)
    spdl.io.save_audio(tmp_path / "a.wav", samples, 16000)
    with wave.open(str(tmp_path / "a.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (16000, 2, 2)
        stored = np.frombuffer(file.readframes(2000), "<i2").reshape(-1, 2)
    np.testing.assert_array_equal(stored.T.astype(np.float32) / 32768, samples)
    np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / "a.wav").numpy(), samples)
    for encoding in ("s24", "s32", "f32", "f64"):
        data = spdl.io.save_audio(None, samples, 16000, encoding=encoding, format="wav")
        np.testing.assert_array_equal(spdl.io.load_audio(data).numpy(), samples)
    assert os.listdir(tmp_path) == ["a.wav"]


def test_samples_of_other_types_and_makers_are_taken():
    samples = tone(500)
    whole = (samples * 32768).astype(np.int16)
    want = spdl.io.save_audio(None, samples, 8000, format="wav")
    for data in (whole, samples.astype(np.float64), np.asfortranarray(samples), np.concatenate([samples, samples], axis=1)[:, :500],
                 spdl.io.load_audio(want), memoryview(samples)):
        assert spdl.io.save_audio(None, data, 8000, format="wav") == want
    torch = pytest.importorskip("torch")
    assert spdl.io.save_audio(None, torch.from_numpy(samples), 8000, format="wav") == want
    assert spdl.io.save_audio(None, torch.from_numpy(samples.T.copy()).T, 8000, format="wav") == want


@pytest.mark.parametrize("name, options", [("a.flac", {}), ("a.m4a", {"codec": "alac"}), ("b.wav", {"codec": "pcm_s16le"})])
def test_lossless_audio_comes_back_bit_for_bit(tmp_path, name, options):
    needs_ffmpeg()
    spdl.io.save_audio(tmp_path / name, tone(9000), 22050, **options)
    np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / name).numpy(), tone(9000))


@pytest.mark.parametrize("name", ["a.flac", "a.tta", "a.wv"])
def test_samples_are_stored_in_the_bits_that_they_have(tmp_path, name):
    """Floats in the most that the codec stores, int16 in 16 bits: both come back bit for bit, and the latter file is smaller."""
    needs_ffmpeg()
    fine = (np.round(tone(9000) * 2**23 * 0.77) / 2**23).astype(np.float32)
    coarse = (tone(9000) * 2**15).astype(np.int16)
    for data, want in ((fine, fine), (coarse, tone(9000))):
        spdl.io.save_audio(tmp_path / name, data, 22050)
        np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / name).numpy(), want)
    short = os.path.getsize(tmp_path / name)
    spdl.io.save_audio(tmp_path / name, coarse.astype(np.float32) / 2**15, 22050)
    assert short <= os.path.getsize(tmp_path / name)
    spdl.io.save_audio(tmp_path / "a.mp3", coarse, 22050)
    spdl.io.save_audio(tmp_path / "a.mka", coarse, 22050, codec="pcm_u8")


def marred(value):
    samples = tone(9000)
    samples[1, 5000] = value
    return samples


@pytest.mark.parametrize("value, shown", [("nan", "NaN"), ("inf", r"\+Inf"), ("-inf", "-Inf")])
def test_what_is_no_number_is_refused_by_its_place(tmp_path, value, shown):
    """By all that encodes sound; LAME would end the process. Floats keep it."""
    needs_ffmpeg()
    samples = marred(float(value))
    for name, options in (("a.wav", {}), ("a.wav", {"encoding": "s32"}), ("a.wav", {"codec": "pcm_s16le"}), ("a.flac", {}), ("a.mp3", {}), ("a.m4a", {}),
                          ("a.ogg", {"codec": "libvorbis"})):
        with pytest.raises(spdl.ArgumentError, match=f"sample 5000 of channel 1 is {shown}, want a number"):
            spdl.io.save_audio(tmp_path / name, samples, 22050, **options)
    with pytest.raises(spdl.ArgumentError, match="sample 5000 of channel 1"):
        spdl.io.save_video(tmp_path / "a.mkv", pictures(2), 25, audio=samples.astype("f8"), sample_rate=22050)
    with pytest.raises(spdl.ArgumentError, match="sample 5000 of channel 1"):
        _open_sound().encode(samples)
    assert not list(tmp_path.iterdir())
    for options in ({"encoding": "f32"}, {"encoding": "f64"}, {"codec": "pcm_f32le"}):
        spdl.io.save_audio(tmp_path / "a.wav", samples, 22050, **options)
        np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / "a.wav").numpy(), samples)


def test_integers_that_were_made_floats_and_not_divided_are_refused(tmp_path):
    needs_ffmpeg()
    for name in ("a.wav", "a.mp3", "a.flac"):
        with pytest.raises(spdl.ArgumentError, match="sample 5000 of channel 1 is -20000, want -1 to 1, and no more than 1024; integers of 16 bits are to be"):
            spdl.io.save_audio(tmp_path / name, marred(-20000), 22050)


def test_pictures_come_back_bit_for_bit(tmp_path):
    needs_ffmpeg()
    Image = pytest.importorskip("PIL.Image")
    picture = pictures(1)[0]
    for name in ("a.png", "a.bmp", "a.tiff"):
        spdl.io.save_image(tmp_path / name, picture)
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / name)), picture)
    spdl.io.save_image(tmp_path / "bgr.png", picture[..., ::-1], "bgr24")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "bgr.png")), picture)
    spdl.io.save_image(tmp_path / "gray.png", picture[..., 0], "gray")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "gray.png")), picture[..., 0])
    deep = (np.arange(48 * 64, dtype=np.uint16) * 21).reshape(48, 64)
    spdl.io.save_image(tmp_path / "deep.png", deep, "gray16")
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "deep.png")).astype(np.uint16), deep)
    near = np.asarray(Image.open(io.BytesIO(spdl.io.save_image(None, picture, codec="mjpeg", qscale=1)))).astype(int)
    assert np.abs(near - picture).mean() < 3
    spdl.io.save_images(tmp_path / "%03d.png", pictures(3), first=7)
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "009.png")), pictures(3)[2])


def test_lossless_video_with_sound_comes_back(tmp_path):
    needs_ffmpeg()
    path = tmp_path / "a.mkv"
    spdl.io.save_video(path, pictures(12), (30000, 1001), codec="ffv1", audio=tone(6400), sample_rate=16000, audio_codec="flac")
    np.testing.assert_array_equal(spdl.io.load_video(path).numpy(), pictures(12))
    np.testing.assert_array_equal(spdl.io.load_audio(path).numpy(), tone(6400))
    assert spdl.io.demux_video(path).frame_rate in ((30000, 1001), (19001, 634))
    data = spdl.io.save_video(None, pictures(4), 29.97, codec="ffv1", format="nut")
    assert spdl.io.demux_video(data).frame_rate == (30000, 1001)
    torch = pytest.importorskip("torch")
    assert spdl.io.save_video(None, torch.from_numpy(pictures(4)), 29.97, codec="ffv1", format="nut") == data


def test_another_reader_reads_the_video(tmp_path):
    needs_ffmpeg()
    av = pytest.importorskip("av")
    path = tmp_path / "a.mp4"
    spdl.io.save_video(path, pictures(20), 25, codec="libx264", options={"crf": 12}, audio=tone(16000), sample_rate=16000)
    with av.open(str(path)) as container:
        got = np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])
    assert got.shape == (20, 48, 64, 3) and np.abs(got.astype(int) - pictures(20)).mean() < 4


def test_frames_have_the_times_they_are_given(tmp_path):
    needs_ffmpeg()
    times = [0, 0.04, 0.5, 0.75, 2]
    muxer = spdl.io.Muxer(tmp_path / "a.mp4")
    video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48), encoder="libx264")
    with muxer.open({"movflags": "+faststart"}):
        video.encode(pictures(5)[:2], times[:2])
        video.encode(pictures(5)[2:], times[2:])
    np.testing.assert_allclose(spdl.io.load(tmp_path / "a.mp4", {"video": {}})["pts"].numpy(), times, atol=6e-4)


def test_programs_of_spdls_form_run(tmp_path):
    """encoder.encode, reference frames, and packets that are None are as in Meta's SPDL."""
    needs_ffmpeg()
    muxer = spdl.io.Muxer(tmp_path / "a.mkv")
    config = spdl.io.video_encode_config(height=48, width=64, frame_rate=(25, 1), pix_fmt="yuv444p")
    video = muxer.add_encode_stream(config, encoder="ffv1")
    audio = muxer.add_encode_stream(spdl.io.audio_encode_config(num_channels=2, sample_rate=8000), encoder="flac")
    planes, samples = pictures(6).transpose(0, 3, 1, 2).copy(), (tone(2400) * 32768).astype(np.int16).T.copy()
    with muxer.open():
        for i in (0, 3):
            frames = spdl.io.create_reference_video_frame(planes[i:i + 3], pix_fmt="yuv444p", frame_rate=(25, 1), pts=i)
            if (packets := video.encode(frames)) is not None:
                muxer.write(0, packets)
            assert audio.frame_size > 0 and not hasattr(video, "frame_size")
            frames = spdl.io.create_reference_audio_frame(samples[i * 400:i * 400 + 1200], "s16", 8000, pts=i * 400)
            if (packets := audio.encode(frames)) is not None:
                muxer.write(1, packets)
        assert video.flush() is None and audio.flush() is None
    assert spdl.io.load_video(tmp_path / "a.mkv").shape == (6, 48, 64, 3)
    np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / "a.mkv").numpy(), tone(2400))


def tracked(config, frames, **more):
    """Frames as a lossless codec has them of an encoder of this config."""
    muxer = spdl.io.Muxer(None, format="matroska")
    track = muxer.add_encode_stream(spdl.io.video_encode_config(**{"width": 64, "height": 48, "frame_rate": 30, **config}), encoder="ffv1")
    with muxer.open():
        for each in frames:
            track.encode(each, **more)
    return spdl.io.load_video(muxer.getvalue()).numpy()


@pytest.mark.parametrize("name", [*_write._CHANNELS_LAST, *_write._PLANAR, *_write._GRAY, *_write._STACKED])
def test_arrays_of_frames_are_those_of_filter_graphs(name):
    needs_ffmpeg()
    one = _write._shape(name, 48, 64)
    if not name.endswith("be"):
        end = spdl.io.FilterGraph(f"buffer=video_size=64x48:pix_fmt={_write._FFMPEGS.get(name, name)}:time_base=1/30,buffersink").inputs[0]
        assert (tuple(end["shape"]), {"u8": "uint8", "u16": "uint16"}[end["dtype"]]) == (one, _write._dtype(name))
    frames = np.full((3, *one), 77, _write._dtype(name))
    assert len(tracked({"input": name}, [frames, frames[0], frames[:1].tobytes(), frames[:0]])) == 5


def test_bytes_of_frames_and_formats_without_an_array_are_taken():
    needs_ffmpeg()
    same = pictures(4)
    np.testing.assert_array_equal(tracked({}, [same.tobytes(), same[:1].ravel(), memoryview(same[1:2].tobytes()).cast("B")])[:4], same)
    packed = np.full((3, 48 * 64 * 2), 128, np.uint8)
    assert tracked({"input": "yuyv422", "pix_fmt": "yuv422p"}, [packed]).shape == (3, 48, 64, 3)
    odd = np.full((2, 33 * 65 + 2 * 17 * 33), 128, np.uint8)
    assert tracked({"width": 65, "height": 33, "pix_fmt": "yuv420p"}, [odd]).shape == (2, 33, 65, 3)
    for wrong in (packed.astype(np.uint16), packed[0]):
        with pytest.raises(spdl.ArgumentError, match=r"want \[T, bytes of a frame\] of uint8 for 64x48 of yuyv422"):
            tracked({"input": "yuyv422"}, [wrong])


@pytest.mark.parametrize("config, array, want", [
    ({"pix_fmt": "yuv420p"}, np.zeros((4, 48, 64, 3), np.uint8), r"\[4, 48, 64, 3\] of uint8, want \[T, 1, 72, 64\] of uint8 for 64x48 of yuv420p, which is this stream's input"),
    ({"pix_fmt": "yuv444p"}, np.zeros((4, 48, 64, 3), np.uint8), r"want \[T, 3, 48, 64\]"),
    ({"input": "gray16"}, np.zeros((4, 48, 64), np.uint8), r"want \[T, 48, 64, 1\] of uint16"),
    ({}, np.zeros((4, 48, 64, 3), np.float32), r"of float32, want \[T, 48, 64, 3\] of uint8"),
    ({}, np.zeros((4, 48, 64, 3), np.uint16), "of uint16, want"),
    ({}, np.zeros((4, 48, 64, 3), bool), "of bool, want"),
    ({}, np.zeros((3, 48, 64, 4), np.uint8), r"\[3, 48, 64, 4\] of uint8, want"),
    ({}, np.zeros((4, 24, 64, 3), np.uint8), r"\[4, 24, 64, 3\] of uint8, want"),
    ({}, np.zeros((4, 64, 48, 3), np.uint8), r"\[4, 64, 48, 3\] of uint8, want"),
    ({}, np.zeros((4, 3, 48, 64), np.uint8), r"\[4, 3, 48, 64\] of uint8, want"),
    ({}, np.zeros((2, 2, 48, 64, 3), np.uint8), "want"),
])
def test_frames_that_are_not_the_streams_are_refused(config, array, want):
    """Whatever their bytes add up to: as arrays and as reference frames."""
    needs_ffmpeg()
    with pytest.raises(spdl.ArgumentError, match="encode: an array .*" + want):
        tracked(config, [array])
    declared = config.get("input") or config.get("pix_fmt") or "rgb24"
    for rate in (30, None):
        with pytest.raises(spdl.ArgumentError, match="encode: an array .*" + want):
            tracked({**config, "frame_rate": rate}, [spdl.io.create_reference_video_frame(array, declared, (30, 1), 0)])


def sounded(frames, **more):
    track = _open_sound()
    track.encode(frames, **more)


@pytest.mark.parametrize("call, text", [
    (lambda f: tracked({"pix_fmt": "yuv444p", "input": "rgb24"}, [spdl.io.create_reference_video_frame(f, "bgr24", (30, 1), 0)]),
     "frames of bgr24, want rgb24, which is this stream's input; for another give video_encode_config input="),
    (lambda f: tracked({}, [spdl.io.create_reference_video_frame(f, "rgb25", (30, 1), 0)]), "frames of rgb25, want rgb24"),
    (lambda f: tracked({}, [spdl.io.create_reference_video_frame(f, "rgb24", (10, 1), 0)]), "frames of a rate of 10, want 30, which is this stream's"),
    (lambda f: spdl.io.create_reference_video_frame(f, "rgb24", (0, 1), 0), r"frame_rate=\(0, 1\), want frames a second"),
    (lambda f: spdl.io.create_reference_video_frame(f, "rgb24", (30, 1), 0.5), "pts=0.5, want a whole number"),
    (lambda f: tracked({}, [spdl.io.create_reference_video_frame(f, "rgb24", (30, 1), 0)], seconds=[0]), "frames with a pts, and seconds"),
    (lambda f: tracked({}, [spdl.io.create_reference_audio_frame(tone(5), "fltp", 8000, 0)]), "frames of audio, want those of video"),
    (lambda f: sounded(spdl.io.create_reference_video_frame(f, "rgb24", (30, 1), 0)), "frames of video, want those of audio"),
    (lambda f: sounded(spdl.io.create_reference_audio_frame(tone(5), "fltp", 16000, 0)), "of a rate of 16000, want 8000"),
    (lambda f: sounded(spdl.io.create_reference_audio_frame(tone(5), "s16p", 8000, 0)), "an array of float32, want int16, which is s16p"),
    (lambda f: sounded(spdl.io.create_reference_audio_frame(tone(5), "flt", 8000, 0)), r"samples \[2, 5\], want \[samples, 2\] of a sample_fmt without a p"),
    (lambda f: sounded(spdl.io.create_reference_audio_frame(tone(5).T.copy(), "fltp", 8000, 0)), "give their transpose"),
    (lambda f: spdl.io.create_reference_audio_frame(tone(5), "s17", 8000, 0), "sample_fmt='s17', want u8, s16, s32, flt, dbl, or one of them with a p"),
    (lambda f: spdl.io.create_reference_audio_frame(tone(5), None, 8000, 0), "sample_fmt=None, want u8"),
    (lambda f: sounded(tone(5), seconds=[0]), "samples with seconds; want none"),
])
def test_reference_frames_are_what_they_say(call, text):
    needs_ffmpeg()
    with pytest.raises(spdl.ArgumentError, match=text):
        call(pictures(1))


def test_reference_frames_keep_their_colours():
    needs_ffmpeg()
    red = np.zeros((2, 48, 64, 3), np.uint8)
    red[..., 0] = 200
    for name, frames in (("rgb24", red), ("bgr24", red[..., ::-1].copy())):
        got = tracked({"input": name, "frame_rate": (60, 2)}, [spdl.io.create_reference_video_frame(frames, name, (30, 1), 0)])
        np.testing.assert_array_equal(got, red)


def test_complex_numbers_are_refused():
    """They were read as twice as many floats."""
    for complex_ in (np.complex64, np.complex128):
        name = np.dtype(complex_).name
        for call in (spdl.io.convert_array, lambda a: spdl.io.save_audio(None, a, 8000, format="wav")):
            with pytest.raises(spdl.ArgumentError, match=f"elements of {name}, want real numbers; give an array of their parts"):
                call(np.zeros((2, 30), complex_))
            with pytest.raises(spdl.ArgumentError, match=f"of {name}, want"):
                call(OnlyDLPack(np.zeros((2, 30), complex_)))
    with pytest.raises(spdl.ArgumentError, match="convert_array: DLPack only supports"):
        spdl.io.convert_array(np.zeros(3, "M8[s]"))
    assert spdl.io.convert_array(np.arange(6, dtype=np.float16).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]


class OnlyDLPack:
    """An array as those who have no buffer hand it out."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


def test_streams_are_copied_as_they_are(tmp_path):
    needs_ffmpeg()
    spdl.io.save_video(tmp_path / "a.mp4", pictures(50), 25, codec="libx264", audio=tone(32000), sample_rate=16000)
    demuxer, muxer = spdl.io.Demuxer(tmp_path / "a.mp4"), spdl.io.Muxer(tmp_path / "b.mkv")
    muxer.add_remux_stream(demuxer.video_codec)
    muxer.add_remux_stream(demuxer.audio_codec)
    with muxer.open():
        for pieces in demuxer.streaming_demux([0, 1], duration=0.5):
            for i, packets in pieces.items():
                muxer.write(i, packets)
    for demux in (spdl.io.demux_video, spdl.io.demux_audio):
        before, after = demux(tmp_path / "a.mp4"), demux(tmp_path / "b.mkv")
        assert [before.packet(i)["data"] for i in range(len(before))] == [after.packet(i)["data"] for i in range(len(after))]
    np.testing.assert_array_equal(spdl.io.load_video(tmp_path / "b.mkv").numpy(), spdl.io.load_video(tmp_path / "a.mp4").numpy())
    cut = spdl.io.demux_video(tmp_path / "a.mp4", (1, 2))
    muxer = spdl.io.Muxer(None, format="h264")
    muxer.add_remux_stream(cut.codec, bsf="h264_mp4toannexb")
    with muxer.open():
        muxer.write(0, cut)
    assert muxer.getvalue()[:4] == b"\0\0\0\1"


def test_a_failure_leaves_no_file(tmp_path):
    needs_ffmpeg()
    muxer = spdl.io.Muxer(tmp_path / "a.mp4")
    video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48, frame_rate=25), encoder="mpeg4")
    with pytest.raises(KeyError):
        with muxer.open():
            video.encode(pictures(3))
            raise KeyError("mine")
    with pytest.raises(spdl.ArgumentError, match="closed"):
        video.encode(pictures(3))
    muxer.close()
    (tmp_path / "old.mp4").write_bytes(b"old")
    with pytest.raises(spdl.ArgumentError, match="frames of"):
        with spdl.io.Muxer(tmp_path / "old.mp4") as muxer:
            video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48, frame_rate=25), encoder="mpeg4")
            muxer.open()
            video.encode(np.zeros(100, np.uint8))
    assert (tmp_path / "old.mp4").read_bytes() == b"old" and os.listdir(tmp_path) == ["old.mp4"]
    nowhere = tmp_path / "nowhere"
    for save in (lambda: spdl.io.save_video(nowhere / "a.mp4", pictures(1), 25), lambda: spdl.io.save_image(nowhere / "a.png", pictures(1)[0]),
                 lambda: spdl.io.save_audio(nowhere / "a.wav", np.zeros((1, 8), np.float32), 8000)):
        with pytest.raises(spdl.SystemCallError, match=f"{nowhere}/a\\..*no such file or directory; there is no directory \"{nowhere}\"") as told:
            save()
        assert ".part" not in str(told.value)


def _open_sound():
    muxer = spdl.io.Muxer(None, format="nut")
    track = muxer.add_encode_stream(spdl.io.audio_encode_config(num_channels=2, sample_rate=8000), encoder="pcm_s16le")
    muxer.open()
    return track


def _untimed():
    muxer = spdl.io.Muxer(None, format="nut")
    track = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48), encoder="ffv1")
    muxer.open()
    return track


def _muxer(**config):
    muxer = spdl.io.Muxer(None, format="matroska")
    return muxer.add_encode_stream(spdl.io.video_encode_config(**{"width": 64, "height": 48, "frame_rate": 25, **config}), encoder="ffv1")


@pytest.mark.parametrize("call, error, text", [
    (lambda: spdl.io.save_image(None, pictures(1)[0]), spdl.SpecError, "image.codec"),
    (lambda: spdl.io.save_image("/tmp/a.nothing", pictures(1)[0]), spdl.Unsupported, "no codec of pictures goes by the ending of this name; name one"),
    (lambda: spdl.io.save_image(None, pictures(1)[0], codec="pngg"), spdl.Unsupported, "pngg"),
    (lambda: spdl.io.save_image(None, pictures(1), codec="png"), spdl.ArgumentError, r"want \[H, W, 3\]"),
    (lambda: spdl.io.save_image(None, pictures(1)[0].astype("f4"), codec="png"), spdl.ArgumentError, "of float32, want .H, W, 3. of uint8 for rgb24"),
    (lambda: spdl.io.save_image(None, pictures(1)[0, ..., 0].astype("f2"), "gray16", codec="png"), spdl.ArgumentError, "of float16, want .H, W. of uint16 for gray16"),
    (lambda: spdl.io.save_image(None, pictures(1)[0], "yuv411p", codec="png"), spdl.ArgumentError, "want one of"),
    (lambda: spdl.io.save_image(None, "picture", codec="png"), spdl.ArgumentError, "got str, want an array"),
    (lambda: spdl.io.save_images("/tmp/a.png", pictures(2)), spdl.ArgumentError, "want one number in the name"),
    (lambda: spdl.io.save_audio(None, tone(5)[0], 8000, format="wav"), spdl.ArgumentError, "want .channels, samples."),
    (lambda: spdl.io.save_audio(None, tone(5), 8000, format="wav", encoding="s12"), spdl.SpecError, "wav.encoding: got \"s12\""),
    (lambda: spdl.io.save_audio(None, tone(5), -8000, format="wav"), spdl.SpecError, "wav.rate"),
    (lambda: spdl.io.save_audio(None, tone(5), 44100.9, format="wav"), spdl.ArgumentError, "save_audio: sample_rate=44100.9, want a whole number"),
    (lambda: spdl.io.save_audio(None, tone(5), 44100.9, format="flac"), spdl.ArgumentError, "sample_rate=44100.9, want a whole number"),
    (lambda: spdl.io.save_video(None, pictures(1), (30000.5, 1001), format="mp4"), spdl.ArgumentError, r"frame_rate\[0\]=30000.5, want a whole number"),
    (lambda: spdl.io.save_video(None, pictures(1), float("nan"), format="mp4"), spdl.ArgumentError, "frame_rate=nan, want frames a second"),
    (lambda: spdl.io.save_video(None, pictures(1), "25", format="mp4"), spdl.ArgumentError, r"frame_rate='25', want frames a second, such as 30, 29.97 or \(30000, 1001\)"),
    (lambda: spdl.io.save_video(None, pictures(1), (25, 1, 2), format="mp4"), spdl.ArgumentError, r"frame_rate=\(25, 1, 2\), want frames a second"),
    (lambda: spdl.io.save_video(None, pictures(1), None, format="mp4"), spdl.ArgumentError, "save_video: frame_rate=None, want frames a second"),
    (lambda: spdl.io.save_video(None, pictures(1), 25, format="mp4", options=["crf"]), spdl.ArgumentError, r"options=\['crf'\], want a mapping, such as"),
    (lambda: _untimed().encode(pictures(2)), spdl.ArgumentError, "frames without times on a track without a rate; give each frame a time"),
    (lambda: spdl.io.Muxer(None, format="mp4").add_remux_stream(None), spdl.ArgumentError, "add_remux_stream: a codec of NoneType, want Demuxer.video_codec"),
    (lambda: spdl.io.Muxer(None, format="mp4").write("0", None), spdl.ArgumentError, "stream_index='0', want a whole number"),
    (lambda: spdl.io.video_encode_config(width=64.5, height=48), spdl.ArgumentError, "video_encode_config: width=64.5, want a whole number"),
    (lambda: spdl.io.save_images("/tmp/a%d.png", pictures(1), first=0.5), spdl.ArgumentError, "save_images: first=0.5"),
    (lambda: spdl.io.save_image("/tmp/a.png\0.jpg", pictures(1)[0]), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.save_audio("/tmp/a\0.wav", tone(5), 8000), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.save_video("/tmp/a\0.mp4", pictures(1), 25), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: copy.copy(spdl.io.Muxer(None, format="mp4")), spdl.Unsupported, "pickle or copy Muxer: .*in C"),
    (lambda: spdl.io.save_audio(None, tone(5).astype(bool), 8000, format="wav"), spdl.ArgumentError, "samples of bool, want"),
    (lambda: spdl.io.save_audio(None, tone(5), 8000), spdl.SpecError, "format: is missing"),
    (lambda: spdl.io.save_audio("/tmp/a.nothing", tone(5), 8000), spdl.Unsupported, "give a format"),
    (lambda: spdl.io.save_video(None, pictures(1), 25, format="mp4", audio=tone(5)), spdl.ArgumentError, "audio and sample_rate"),
    (lambda: spdl.io.save_video(None, pictures(1), 25, format="mp5"), spdl.Unsupported, "mp5"),
    (lambda: spdl.io.save_video(None, pictures(1), 25, format="webm", codec="libx264"), spdl.Unsupported, "webm does not hold h264"),
    (lambda: spdl.io.save_video(None, pictures(1), 25, format="mp4", options={"crff": 3}, codec="libx264"), spdl.ArgumentError, "crff"),
    (lambda: spdl.io.Muxer(None, format="mp4").open().close(), spdl.ArgumentError, "no tracks"),
    (lambda: spdl.io.Muxer(None, format="mp4").write(0, None), spdl.ArgumentError, "not open"),
    (lambda: spdl.io.Muxer(None, format="mp4").open().write(0, None), spdl.ArgumentError, "stream 0 of 0 takes packets, got NoneType"),
    (lambda: spdl.io.Muxer(None, format="mp4").add_encode_stream({}), spdl.ArgumentError, "want video_encode_config's"),
    (lambda: spdl.io.save_video(None, pictures(2), 25, audio=np.zeros((8000, 2), np.float32), sample_rate=8000, format="nut"), spdl.ArgumentError,
     r"save_video: audio \[8000, 2\], want \[channels, samples\]; these are \[samples, channels\]: give their transpose"),
    (lambda: spdl.io.save_video(None, pictures(2), 25, audio=np.zeros(8000, np.float32), sample_rate=8000, format="nut"), spdl.ArgumentError,
     r"audio \[8000\], want \[channels, samples\]; of one channel add that axis"),
    (lambda: spdl.io.save_audio(None, np.zeros((8000, 1), np.float32), 8000, format="wav"), spdl.ArgumentError, "save_audio: .*give their transpose"),
    (lambda: _open_sound().encode(np.zeros((8000, 2), np.float32)), spdl.ArgumentError,
     r"samples \[8000, 2\], want \[2, samples\]; these are \[samples, channels\]: give their transpose"),
    (lambda: _open_sound().encode(np.zeros((3, 800), np.float32)), spdl.ArgumentError, r"samples \[3, 800\], want \[2, samples\]$"),
    (lambda: _muxer().encode(pictures(1)), spdl.ArgumentError, "not open"),
    (lambda: spdl.io.Muxer("/tmp/a.mp4").getvalue(), spdl.ArgumentError, "no bytes"),
])
def test_refusals_say_what_is_wrong(call, error, text):
    needs_ffmpeg()
    with pytest.raises(error, match=text):
        call()


def test_what_goes_wrong_while_writing_is_named():
    needs_ffmpeg()
    muxer = spdl.io.Muxer(None, format="matroska")
    video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48, frame_rate=25), encoder="ffv1")
    untimed = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=48), encoder="ffv1")
    packets = spdl.io.demux_video(spdl.io.save_video(None, pictures(2), 25, codec="mpeg4", format="avi"))
    muxer.add_remux_stream(packets.codec)
    with muxer.open():
        with pytest.raises(spdl.ArgumentError, match="takes packets"):
            muxer.write(2, pictures(1))
        with pytest.raises(spdl.ArgumentError, match="track 0 takes arrays"):
            muxer.write(0, packets)
        with pytest.raises(spdl.ArgumentError, match="without times"):
            untimed.encode(pictures(1))
        with pytest.raises(spdl.ArgumentError, match="2 times for 1 frames"):
            untimed.encode(pictures(1), [0, 1])
        with pytest.raises(spdl.ArgumentError, match="want 0"):
            video.encode(spdl.io.create_reference_video_frame(pictures(1), "rgb24", (25, 1), 5))
        video.encode(pictures(1))
        video.encode(spdl.io.create_reference_video_frame(pictures(1), "rgb24", (25, 1), 1))  # arrays are counted, too
        video.encode(pictures(2)[0])
        with pytest.raises(spdl.ArgumentError, match="want 3"):
            video.encode(spdl.io.create_reference_video_frame(pictures(1), "rgb24", (25, 1), 2))
        with pytest.raises(spdl.ArgumentError, match="add all streams before"):
            muxer.add_remux_stream(packets.codec)
        other = spdl.io.demux_video(spdl.io.save_video(None, pictures(2), 25, codec="ffv1", format="matroska"))
        with pytest.raises(spdl.ArgumentError, match="packets of ffv1"):
            muxer.write(2, other)
        muxer.write(2, packets)
        muxer.write(0, pictures(2))
        untimed.encode(pictures(1), [0])
    assert len(spdl.io.demux_video(muxer.getvalue())) == 5


@pytest.mark.parametrize("options", [{}, {"x265-params": "bframes=0"}])
def test_x265_writes_nothing_to_standard_error_unless_it_is_told_to(capfd, options):
    data = spdl.io.save_video(None, pictures(4), 25, codec="libx265", format="mp4", options=options)
    assert len(spdl.io.load_video(data).numpy()) == 4
    assert capfd.readouterr() == ("", "")
    spdl.io.save_video(None, pictures(4), 25, codec="libx265", format="mp4", options={"x265-params": "log-level=info"})
    assert "x265 [info]" in capfd.readouterr().err


def test_svt_av1_writes_nothing_to_standard_error_unless_it_is_told_to(capfd, monkeypatch):
    monkeypatch.delenv("SVT_LOG", raising=False)
    for _ in range(2):
        data = spdl.io.save_video(None, pictures(4, 64, 64), 25, codec="libsvtav1", format="mp4")
        assert len(spdl.io.load_video(data).numpy()) == 4
        assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("SVT_LOG", "3")
    spdl.io.save_video(None, pictures(4, 64, 64), 25, codec="libsvtav1", format="mp4")
    assert "Svt[info]" in capfd.readouterr().err


def test_svt_av1_leaves_threads_as_they_were_scheduled(tmp_path):
    """As root it would have them, and whatever they start, run ahead of all others of the machine."""
    def policies():
        return {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}

    before = policies()
    muxer = spdl.io.Muxer(tmp_path / "a.mp4")
    video = muxer.add_encode_stream(spdl.io.video_encode_config(width=64, height=64, frame_rate=(25, 1)), encoder="libsvtav1")
    with muxer.open():
        video.encode(pictures(4, 64, 64), [n / 25 for n in range(4)])
        assert policies() == before and os.sched_getscheduler(0) == os.SCHED_OTHER
    assert policies() == before


@pytest.mark.parametrize("codec, container", [("flv", "flv"), ("msmpeg4v2", "asf")])
def test_the_last_frame_lasts_as_the_one_before_it_where_the_container_names_no_durations(codec, container):
    data = spdl.io.save_video(None, pictures(10), 25, codec=codec, format=container)
    all_of = spdl.io.load(data, {"video": {}})
    np.testing.assert_allclose(all_of["duration"].numpy(), 1 / 25, atol=1e-9)
    last = spdl.io.load(data, {"video": {"select": {"kind": "times", "times": [float(all_of["pts"].numpy()[-1]) + 0.03]}}})
    np.testing.assert_array_equal(last["video"].numpy()[0], all_of["video"].numpy()[-1])
    by_rate = spdl.io.load(data, {"video": {"select": {"kind": "fps", "rate": 25}}})
    np.testing.assert_array_equal(by_rate["video"].numpy(), all_of["video"].numpy())
    clip = {"kind": "clips_at_regular_timestamps", "seconds_between_clip_starts": 9, "num_frames_per_clip": 2, "seconds_between_frames": 0.04,
            "sampling_range_start": float(all_of["pts"].numpy()[-2]) + 0.01}
    np.testing.assert_array_equal(spdl.io.load(data, {"video": {"select": clip}})["video"].numpy(), all_of["video"].numpy()[-2:])
