"""What programs with torchcodec call and what of spdl.io it becomes: each row of docs/migrate.md's table, run on both."""

import pathlib
import wave

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed (requirements-bench.txt)")
decoders = pytest.importorskip("torchcodec.decoders", reason="torchcodec is not installed (requirements-bench.txt)")
from torchcodec import encoders, samplers, transforms  # noqa: E402

import spdl.io  # noqa: E402

FILES = pathlib.Path(__file__).resolve().parents[2] / "core/media/video/testdata"
FILM = str(FILES / "bframes.mp4")
NCHW = {"layout": "NTCHW"}


def chosen(**select):
    """The frames that a selection has, with their times."""
    window = select.pop("window", None)
    return spdl.io.load(FILM, {"video": {"select": select, **NCHW, **({"window": window} if window else {})}})


FRAMES = {
    "get_frame_at": (lambda d: d.get_frame_at(7), lambda: chosen(kind="indices", indices=[7])),
    "get_frames_at": (lambda d: d.get_frames_at([30, 3, 3, -1]), lambda: chosen(kind="indices", indices=[30, 3, 3, -1])),
    "get_frames_in_range": (lambda d: d.get_frames_in_range(5, 25, 4), lambda: chosen(kind="indices", indices=list(range(5, 25, 4)))),
    "get_frame_played_at": (lambda d: d.get_frame_played_at(0.51), lambda: chosen(kind="times", times=[0.51])),
    "get_frames_played_at": (lambda d: d.get_frames_played_at([1.01, 0.02]), lambda: chosen(kind="times", times=[1.01, 0.02])),
    "get_frames_played_in_range": (lambda d: d.get_frames_played_in_range(0.21, 0.9), lambda: chosen(kind="all", window={"start": "210ms", "duration": "690ms"})),
    "get_frames_played_in_range(fps=)": (lambda d: d.get_frames_played_in_range(0.21, 0.9, fps=11.3),
                                         lambda: chosen(kind="fps", rate=11.3, window={"start": "210ms", "duration": "690ms"})),
    "get_all_frames": (lambda d: d.get_all_frames(), lambda: chosen(kind="all")),
    "get_all_frames(fps=)": (lambda d: d.get_all_frames(fps=11.3), lambda: chosen(kind="fps", rate=11.3)),
    "clips_at_regular_indices": (lambda d: samplers.clips_at_regular_indices(d, num_clips=3, num_frames_per_clip=4, num_indices_between_frames=2),
                                 lambda: chosen(kind="clips_at_regular_indices", num_clips=3, num_frames_per_clip=4, num_indices_between_frames=2)),
    "clips_at_regular_timestamps": (lambda d: samplers.clips_at_regular_timestamps(d, seconds_between_clip_starts=0.4, num_frames_per_clip=3),
                                    lambda: chosen(kind="clips_at_regular_timestamps", seconds_between_clip_starts=0.4, num_frames_per_clip=3)),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_and_their_times_are_torchcodecs(name):
    theirs, ours = FRAMES[name]
    want, got = theirs(decoders.VideoDecoder(FILM)), ours()
    frames = want.data.numpy().reshape(-1, *want.data.shape[-3:])
    np.testing.assert_array_equal(got["video"].numpy(), frames)
    if "fps" in name:
        return  # its times are the moments of the rate, ours those of the frames
    np.testing.assert_allclose(got["pts"].numpy(), np.reshape(want.pts_seconds, -1), atol=1e-9)
    np.testing.assert_allclose(got["duration"].numpy(), np.reshape(want.duration_seconds, -1), atol=1e-9)


def test_a_decoder_is_indexed_and_sliced():
    d = decoders.VideoDecoder(FILM)
    np.testing.assert_array_equal(spdl.io.sample_decode_video(FILM, [5], **NCHW).numpy()[0], d[5].numpy())
    np.testing.assert_array_equal(spdl.io.sample_decode_video(FILM, range(*slice(3, None, 7).indices(len(d))), **NCHW).numpy(), d[3::7].numpy())
    assert spdl.io.probe_video(FILM)["frames"] == len(d)


@pytest.mark.parametrize("theirs, ours", [
    ({"dimension_order": "NHWC"}, {}),
    ({"dimension_order": "NCHW"}, NCHW),
    ({"stream_index": 0}, {"stream": 0, **NCHW}),
    ({"num_ffmpeg_threads": 2}, {"threads": 2, **NCHW}),
    ({"seek_mode": "approximate"}, {"seek": "approximate", **NCHW}),
    ({"transforms": [transforms.CenterCrop((24, 40))]}, {"transform": [{"center_crop": [24, 40]}], **NCHW}),
])
def test_options_of_a_decoder_are_keys(theirs, ours):
    want = decoders.VideoDecoder(FILM, **theirs).get_frames_at([4, 11, 30]).data.numpy()
    np.testing.assert_array_equal(spdl.io.sample_decode_video(FILM, [4, 11, 30], **ours).numpy(), want)


def test_metadata_is_what_probe_video_tells():
    m, got = decoders.VideoDecoder(FILM).metadata, spdl.io.probe_video(FILM)
    assert (got["width"], got["height"], got["codec"], got["frames"]) == (m.width, m.height, m.codec, m.num_frames)
    assert got["rate"] == pytest.approx(m.average_fps) and got["seconds"] == pytest.approx(m.duration_seconds, abs=1e-3)


@pytest.fixture
def sound(tmp_path):
    """Two seconds of two channels at 22.05 kHz."""
    samples = (np.random.default_rng(3).uniform(-0.5, 0.5, (2, 44100)) * 2**15).astype("<i2")
    with wave.open(str(tmp_path / "a.wav"), "wb") as file:
        file.setparams((2, 2, 22050, 0, "NONE", ""))
        file.writeframes(samples.T.tobytes())
    return str(tmp_path / "a.wav")


def test_samples_are_audiodecoders(sound):
    d = decoders.AudioDecoder(sound)
    np.testing.assert_array_equal(spdl.io.load_audio(sound).numpy(), d.get_all_samples().data.numpy())
    np.testing.assert_array_equal(spdl.io.load_audio(sound, (0.25, 1.5)).numpy(), d.get_samples_played_in_range(0.25, 1.5).data.numpy())
    want = decoders.AudioDecoder(sound, sample_rate=16000).get_all_samples().data.numpy()
    got = spdl.io.load_audio(sound, sample_rate=16000, resample={"method": "swresample"}).numpy()
    np.testing.assert_allclose(got, want, atol=1e-6)
    m, got = d.metadata, spdl.io.probe_audio(sound)
    assert (got["rate"], got["channels"], got["codec"]) == (m.sample_rate, m.num_channels, m.codec)
    assert got["seconds"] == pytest.approx(m.duration_seconds) and got["start"] == pytest.approx(m.begin_stream_seconds_from_header or 0)


def test_samples_are_wavdecoders(sound):
    want = decoders.WavDecoder(sound).get_all_samples().data.numpy()
    np.testing.assert_array_equal(spdl.io.load_audio(sound).numpy(), want)


def test_a_video_is_written_as_videoencoder_writes_it(tmp_path):
    frames = decoders.VideoDecoder(FILM).get_frames_in_range(0, 20).data
    options = {"codec": "libx264", "pixel_format": "yuv444p", "crf": 0, "preset": "ultrafast"}
    encoders.VideoEncoder(frames, frame_rate=25).to_file(tmp_path / "theirs.mp4", **options, extra_options={"g": 5})
    spdl.io.save_video(tmp_path / "ours.mp4", frames.permute(0, 2, 3, 1), 25, codec="libx264", stored="yuv444p", options={"crf": 0, "preset": "ultrafast", "g": 5})
    for name in ("theirs.mp4", "ours.mp4"):
        d = decoders.VideoDecoder(str(tmp_path / name))
        assert len(d) == 20 and d.metadata.average_fps == 25
        assert (d[:].float() - frames.float()).abs().mean() < 1.5
    data = spdl.io.save_video(None, frames.permute(0, 2, 3, 1), 25, format="matroska")
    assert len(decoders.VideoDecoder(data)) == len(decoders.VideoDecoder(encoders.VideoEncoder(frames, frame_rate=25).to_tensor("mkv"))) == 20


def test_a_sound_is_written_as_audioencoder_writes_it(tmp_path, sound):
    samples = decoders.AudioDecoder(sound).get_all_samples().data
    encoders.AudioEncoder(samples, sample_rate=22050).to_file(tmp_path / "theirs.flac")
    spdl.io.save_audio(tmp_path / "ours.flac", samples, 22050)
    for name in ("theirs.flac", "ours.flac"):
        np.testing.assert_array_equal(spdl.io.load_audio(tmp_path / name).numpy(), samples.numpy())
    theirs = encoders.AudioEncoder(samples, sample_rate=22050).to_tensor("wav")
    np.testing.assert_array_equal(spdl.io.load_audio(spdl.io.save_audio(None, samples, 22050, format="wav")).numpy(), spdl.io.load_audio(theirs.numpy()).numpy())


def test_several_streams_are_written_as_encoder_writes_them(tmp_path, sound):
    frames, samples = decoders.VideoDecoder(FILM).get_frames_in_range(0, 20).data, decoders.AudioDecoder(sound).get_all_samples().data[:, :17640]
    encoder = encoders.Encoder()
    video, audio = encoder.add_video(height=48, width=64, frame_rate=25), encoder.add_audio(sample_rate=22050, num_channels=2)
    with encoder.open_file(tmp_path / "theirs.mkv"):
        video.add_frames(frames)
        audio.add_samples(samples)
    muxer = spdl.io.Muxer(tmp_path / "ours.mkv")
    video = muxer.add_encode_stream(spdl.io.video_encode_config(height=48, width=64, frame_rate=25, input="rgb24", pix_fmt="yuv420p"))
    audio = muxer.add_encode_stream(spdl.io.audio_encode_config(num_channels=2, sample_rate=22050))
    with muxer.open():
        video.encode(frames.permute(0, 2, 3, 1))
        audio.encode(samples)
    for name in ("theirs.mkv", "ours.mkv"):
        path = str(tmp_path / name)
        assert len(decoders.VideoDecoder(path)) == 20
        assert decoders.AudioDecoder(path).get_all_samples().data.shape[1] == pytest.approx(17640, abs=2048)


def test_pictures_are_decode_images():
    picture = decoders.VideoDecoder(FILM)[3]
    ours = spdl.io.save_image(None, picture.permute(1, 2, 0).numpy(), codec="png")
    theirs = encoders.PngEncoder(picture).to_tensor().numpy().tobytes()
    for data in (ours, theirs):
        np.testing.assert_array_equal(decoders.decode_image(data).numpy(), picture.numpy())
        np.testing.assert_array_equal(spdl.io.load_image(data, layout="NCHW").numpy(), picture.numpy())
    jpeg = encoders.JpegEncoder(picture).to_tensor(quality=90).numpy().tobytes()
    np.testing.assert_array_equal(spdl.io.load_image(jpeg, layout="NCHW").numpy(), decoders.decode_image(jpeg).numpy())
