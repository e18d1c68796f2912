"""Programs with spdl.io, as a type checker reads them: see loading.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional, Union, assert_type

import numpy
from numpy.typing import NDArray

import spdl
import spdl.io
import spdl.io.utils


def files(path: Path, data: bytes, array: NDArray[numpy.uint8]) -> None:
    for src in (path, "a.jpg", "https://example.org/a.jpg", data, bytearray(data), memoryview(data), array):
        assert_type(spdl.io.load_image(src), spdl.Array)
    assert_type(spdl.io.load_image(data, transform=[{"resize": 8}], mode="gray").numpy(), NDArray[Any])
    assert_type(spdl.io.load_audio("a.flac", (1, 2.5), sample_rate=16000, num_channels=1), spdl.Array)
    assert_type(spdl.io.load_video(path, (0.5, None)), spdl.Array)
    assert_type(spdl.io.sample_decode_video(path, [0, 10, -1]), spdl.Array)
    assert_type(spdl.io.load_npy(data, copy=True), spdl.Array)
    assert_type(spdl.io.load_npz(data)["a"], spdl.Array)
    assert_type(spdl.io.load_npz(data).files, list[str])
    assert_type(spdl.io.load(path, {"video": {}})["pts"], spdl.Array)
    assert_type(spdl.io.probe_video(path), dict[str, Any])
    assert_type(spdl.io.probe_frames(path), dict[str, Any])
    assert_type(spdl.io.load_wav(path), spdl.Array)
    for chunk in spdl.io.streaming_load_video(path, 100):
        assert_type(chunk["video"], spdl.Array)
    for name, view in spdl.io.iter_tarfile(path):
        assert_type((name, view.tobytes()), tuple[str, bytes])
    batch = spdl.io.load_image_batch([path, data], width=8, height=8, strict=False)
    assert_type(batch, spdl.io.ImageBatch)
    assert_type(batch.failures, dict[int, str])
    assert_type(spdl.io.to_numpy(spdl.io.convert_frames([batch, batch])), NDArray[Any])
    assert_type(spdl.io.utils.get_ffmpeg_versions(), dict[str, tuple[int, int, int]])


def packets(path: Path) -> None:
    video = spdl.io.demux_video(path, (1, 2), bsf=None)
    assert_type(video, spdl.io.VideoPackets)
    assert_type(video.frame_rate, tuple[int, int])
    assert_type(video.timestamp, Optional[tuple[float, float]])
    print(video.width * video.height, f"{video.pix_fmt}")
    assert_type(spdl.io.apply_bsf(video, "h264_mp4toannexb"), spdl.io.VideoPackets)
    assert_type(video[:10].clone(), spdl.io.VideoPackets)
    sound = spdl.io.demux_audio(path)
    assert_type(sound, spdl.io.AudioPackets)
    print(sound.sample_rate // 2)
    frames = spdl.io.decode_packets(video, spdl.io.get_video_filter_desc(scale_width=8, scale_height=8))
    assert_type(frames, spdl.io.Frames)
    assert_type(frames.pts, Optional[list[float]])
    assert_type(spdl.io.decode_packets(spdl.io.demux_image(path)), spdl.io.Frames)
    with spdl.io.Demuxer(path) as demuxer:
        for piece in demuxer.streaming_demux(demuxer.video_stream_index, duration=10):
            assert_type(piece, Union[spdl.io.AudioPackets, spdl.io.VideoPackets])
            print(spdl.io.get_filter_desc(piece))
        for pieces in demuxer.streaming_demux([0, 1], num_packets=5):
            assert_type(pieces, dict[int, Union[spdl.io.AudioPackets, spdl.io.VideoPackets]])
        decoder = spdl.io.Decoder(demuxer.audio_codec)
        for ready in decoder.flush():
            assert_type(ready, spdl.io.Frames)


def written(frames: NDArray[numpy.uint8], path: Path) -> None:
    spdl.io.save_image(path, frames[0])
    spdl.io.save_video("a.mp4", frames, frame_rate=(30000, 1001), options={"crf": 20})
    assert_type(spdl.io.save_audio(None, frames, 16000, format="wav"), Optional[bytes])
    muxer = spdl.io.Muxer(path)
    track = muxer.add_encode_stream(spdl.io.video_encode_config(width=8, height=8, frame_rate=29.97))
    with muxer.open():
        track.encode(frames)


def wrong(path: Path, video: spdl.io.VideoPackets, image: spdl.io.ImagePackets) -> None:
    spdl.io.lod_image(path)  # type: ignore[attr-defined]
    spdl.io.load_image(path, filter_desc="hue")  # type: ignore[arg-type]
    spdl.io.load_video(path, timestamp=3)  # type: ignore[arg-type]
    spdl.io.load_audio(path, sample_rate="16k")  # type: ignore[arg-type]
    spdl.io.sample_decode_video(path)  # type: ignore[call-arg]
    spdl.io.decode_packets(path)  # type: ignore[arg-type]
    spdl.io.demux_video(path).sample_rate  # type: ignore[attr-defined]
    spdl.io.save_video(path, 3)  # type: ignore[call-arg]
    spdl.io.utils.trace_event("a")  # type: ignore[attr-defined]
    video.fps  # type: ignore[attr-defined]
    image.width  # type: ignore[attr-defined]
