"""spdl.io: decode one file or one piece of memory in this process, without a ring.

    wave = spdl.io.load_audio("speech.flac", sample_rate=16000)     # spdl.Array, float32 [channels, samples]
    clip = spdl.io.load_video("clip.mp4", timestamp=(1.0, 3.0))     # uint8 [frames, H, W, C]
    four = spdl.io.sample_decode_video("clip.mp4", [0, 10, 20, -1]) # these frames, decoding no more than they need
    image = spdl.io.load_image(open("cat.jpg", "rb").read())        # uint8 [H, W, C]

Each gives a spdl.Array: numpy, torch and jax take it without a copy (numpy(), torch(), DLPack). A source is a path, or anything
with bytes: bytes, bytearray, memoryview, a uint8 array. The words of a description's image, video and audio sections
(docs/spec.md) are keyword arguments: transform, layout, dtype, select ... Decoding lets other threads run; call from as many as you like.

What is random in a transform draws the same each time: a ring is what augments.
"""

from __future__ import annotations

from typing import Any

from ._load import (
    Loaded,
    iter_tarfile,
    iter_zipfile,
    load,
    load_audio,
    load_image,
    load_npy,
    load_npz,
    load_video,
    load_wav,
    probe_audio,
    probe_video,
    sample_decode_video,
    streaming_load_video,
)

__all__ = [
    "iter_tarfile", "iter_zipfile", "load", "load_audio", "load_image", "load_npy", "load_npz", "load_video", "load_wav", "Loaded", "probe_audio", "probe_video",
    "sample_decode_video", "streaming_load_video",
]

_INSTEAD = {
    "demux_audio": "load_audio(src, timestamp=...)", "demux_video": "load_video(src, timestamp=...)", "demux_image": "load_image(src)",
    "decode_packets": "load_audio, load_video or load_image, which demux and decode in one call",
    "Demuxer": "probe_audio, probe_video and load_video(src, timestamp=...)", "Decoder": "load_video(src, timestamp=...)",
    "streaming_load_video_nvdec": "streaming_load_video(src, num_frames)",
    "streaming_demux_video": "streaming_load_video(src, num_frames)",
    "streaming_decode_packets": "streaming_load_video(src, num_frames)",
    "load_image_batch": "a ring: spdl.open(...)",
    "get_video_filter_desc": "the keys of a description (transform, dtype, layout), or filter_desc=\"...\" in FFmpeg's own words",
    "get_audio_filter_desc": "the keys of a description (rate, channels), or filter_desc=\"...\" in FFmpeg's own words",
    "FilterGraph": "filter_desc=\"...\" of load_video and load_audio, one input and one output",
}


def __getattr__(name: str) -> Any:
    if name in _INSTEAD:
        raise AttributeError(f"spdl.io has no {name}; use {_INSTEAD[name]}")
    raise AttributeError(f"module 'spdl.io' has no attribute {name!r}")
