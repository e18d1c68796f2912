"""spdl.io: decode, demux or write one file or one piece of memory in this process, without a ring.

    wave = spdl.io.load_audio("speech.flac", sample_rate=16000)     # spdl.Array, float32 [channels, samples]
    clip = spdl.io.load_video("clip.mp4", timestamp=(1.0, 3.0))     # uint8 [frames, H, W, C]
    four = spdl.io.sample_decode_video("clip.mp4", [0, 10, 20, -1]) # these frames, decoding no more than they need
    image = spdl.io.load_image(open("cat.jpg", "rb").read())        # uint8 [H, W, C]

Each gives a spdl.Array: numpy, torch and jax take it without a copy (numpy(), torch(), DLPack). A source is a path (or
file:///PATH), an address (http, https, s3, gs, hf), or anything with bytes: bytes, bytearray, memoryview, a uint8 array. The words of a description's image,
video and audio sections (docs/spec.md) are keyword arguments: transform, layout, dtype, select ... Decoding lets other threads run;
call from as many as you like.

The same goes the other way, and in between:

    packets = spdl.io.demux_video("clip.mp4", (1.0, 3.0))           # undecoded: decode_packets, sample_decode_video, Muxer take them
    spdl.io.save_video("copy.mp4", clip, frame_rate=30)             # and save_audio, save_image, save_images; Muxer for more

What is random in a transform draws the same each time: a ring is what augments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._listing import offered
from .._spelling import no_attribute
from ..arrays import Array as CPUBuffer
from . import utils
from ._batch import ImageBatch, load_image_batch
from ._config import DecodeConfig, DemuxConfig, decode_config, demux_config
from ._convert import convert_array, convert_frames, to_numpy, to_torch
from ._decoder import BSF, AudioDecoder, Decoder, VideoDecoder
from ._filters import (
    get_abuffer_desc,
    get_audio_filter_desc,
    get_buffer_desc,
    get_filter_desc,
    get_video_filter_desc,
)
from ._graph import FilterGraph
from ._load import (
    Frames,
    Loaded,
    NpzFile,
    iter_tarfile,
    iter_zipfile,
    load,
    load_audio,
    load_image,
    load_npy,
    load_npz,
    load_video,
    load_wav,
    parse_wav,
    probe_audio,
    probe_frames,
    probe_video,
    sample_decode_video,
    streaming_load_video,
)
from ._packets import (
    AudioPackets,
    Codec,
    Demuxer,
    ImagePackets,
    VideoPackets,
    apply_bsf,
    decode_packets,
    demux_audio,
    demux_image,
    demux_video,
    streaming_decode_packets,
)
from ._write import (
    Encoder,
    Muxer,
    audio_encode_config,
    create_reference_audio_frame,
    create_reference_video_frame,
    save_audio,
    save_image,
    save_images,
    save_video,
    video_encode_config,
)

__all__ = [
    "apply_bsf", "AudioDecoder", "audio_encode_config", "AudioPackets", "BSF", "Codec", "convert_array", "convert_frames", "CPUBuffer",
    "create_reference_audio_frame", "create_reference_video_frame", "DecodeConfig", "decode_config", "decode_packets", "Decoder", "demux_audio",
    "DemuxConfig", "demux_config", "Demuxer", "demux_image", "demux_video", "Encoder", "FilterGraph", "Frames", "get_abuffer_desc",
    "get_audio_filter_desc", "get_buffer_desc", "get_filter_desc", "get_video_filter_desc", "ImageBatch", "ImagePackets", "iter_tarfile",
    "iter_zipfile", "load", "load_audio", "Loaded", "load_image", "load_image_batch", "load_npy", "load_npz", "load_video", "load_wav", "Muxer", "NpzFile",
    "parse_wav", "probe_audio", "probe_frames", "probe_video", "sample_decode_video", "save_audio", "save_image", "save_images", "save_video",
    "streaming_decode_packets", "streaming_load_video", "to_numpy", "to_torch", "utils", "VideoDecoder", "video_encode_config", "VideoPackets",
]


__dir__ = offered(globals())

_INSTEAD = {
    "streaming_load_video_nvdec": "streaming_load_video(src, num_frames)",
    "streaming_demux_video": "Demuxer(src).streaming_demux(index, num_packets=...)",
    "encode_image": "save_image(path, data, pix_fmt)",
    **dict.fromkeys(["load_image_batch_nvjpeg", "decode_image_nvjpeg"], "load_image_batch, or a ring with device: {decode: nvjpeg} (docs/gpu.md)"),
    **dict.fromkeys(["nvdec_decoder", "NvDecDecoder", "decode_packets_nvdec"], "load_video(src, hardware=\"cuda\"), whose frames come to memory"),
    **dict.fromkeys(["nv12_to_rgb", "nv12_to_bgr"], "frames as they come: they are RGB"),
    **dict.fromkeys(["transfer_buffer", "transfer_buffer_cpu", "transfer_tensor", "transfer_tensor_h2d", "transfer_tensor_d2h", "cuda_config",
                     "CUDAConfig", "CUDABuffer", "cpu_storage", "CPUStorage"], "array.torch().to(device), or a ring with a device (docs/gpu.md)"),
    "to_jax": "jax.dlpack.from_dlpack(array)",
    "to_numba": "array.numpy()",
    **dict.fromkeys(["AudioFrames", "VideoFrames", "ImageFrames"], "Frames"),
    **dict.fromkeys(["AudioCodec", "VideoCodec", "ImageCodec"], "Codec"),
    **dict.fromkeys(["AudioEncoder", "VideoEncoder"], "Encoder"),
    "WAVHeader": "parse_wav(src)",
}


if not TYPE_CHECKING:  # to a type checker it would say that every name is there
    def __getattr__(name: str) -> object:
        if name in _INSTEAD:
            raise AttributeError(f"spdl.io has no {name}; use {_INSTEAD[name]}")
        raise no_attribute(__name__, name, __all__)
