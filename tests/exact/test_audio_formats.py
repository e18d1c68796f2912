"""Every format's frames are those that PyAV decodes, count for count and value for value."""

import numpy as np
import pytest

from audio import decoded
from tools import RowError

av = pytest.importorskip("av", reason="PyAV is not installed")


def tones(frames, rate, channels):
    t = np.arange(frames) / rate
    x = [sum(np.sin(2 * np.pi * f * (1 + 0.3 * c) * t) * 0.2 for f in (220, 450, 1210)) for c in range(channels)]
    noise = np.random.default_rng(1).standard_normal((channels, frames)) * 0.03
    return np.round((np.array(x) + noise) * 32767).astype(np.int16)


LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1"}


def encode(path, codec, rate, channels, sample_format, frames, bit_rate=None, container_options=None, options=None, container=None):
    with av.open(str(path), "w", format=container, options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=rate, layout=LAYOUTS[channels], options=options or {})
        stream.codec_context.format = sample_format
        if bit_rate:
            stream.bit_rate = bit_rate
        x = np.ascontiguousarray(tones(frames, rate, channels).T).reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(x, "s16", LAYOUTS[channels])
        frame.sample_rate, frame.pts = rate, 0
        for packet in [*stream.encode(frame), *stream.encode(None)]:
            container.mux(packet)
    return path


def decode(path):
    scale = {"u8": 128, "s16": 32768, "s32": 2**31, "flt": 1, "dbl": 1}
    parts = []
    with av.open(str(path)) as container:
        for frame in decoded(container):
            a = frame.to_ndarray()
            kind = frame.format.name.removesuffix("p")
            if not frame.format.is_planar:
                a = a.reshape(-1, frame.layout.nb_channels).T
            parts.append((a.astype(np.float64) - (128 if kind == "u8" else 0)) / scale[kind])
    return np.concatenate(parts, axis=1)


FORMATS = {
    "mp3 CBR": ("a.mp3", "libmp3lame", 44100, 2, "s16p", dict(bit_rate=128000)),
    "mp3 VBR": ("a.mp3", "libmp3lame", 44100, 1, "s16p", dict(options={"qscale": "4"})),
    "mp3 22 kHz": ("a.mp3", "libmp3lame", 22050, 1, "s16p", dict(bit_rate=32000)),
    "mp3 8 kHz": ("a.mp3", "libmp3lame", 8000, 1, "s16p", dict(bit_rate=8000)),
    "mp3 12 kHz": ("a.mp3", "libmp3lame", 12000, 2, "s16p", dict(bit_rate=32000)),
    "mp3 16 kHz": ("a.mp3", "libmp3lame", 16000, 1, "s16p", dict(bit_rate=24000)),
    "mp3 24 kHz": ("a.mp3", "libmp3lame", 24000, 2, "s16p", dict(bit_rate=64000)),
    "mp3 32 kHz": ("a.mp3", "libmp3lame", 32000, 2, "s16p", dict(bit_rate=320000)),
    "mp3 48 kHz": ("a.mp3", "libmp3lame", 48000, 2, "s16p", dict(options={"qscale": "0"})),
    "mp3 left and right": ("a.mp3", "libmp3lame", 44100, 2, "s16p", dict(bit_rate=192000, options={"joint_stereo": "0"})),
    "mp3 without reservoir": ("a.mp3", "libmp3lame", 44100, 2, "s16p", dict(bit_rate=96000, options={"reservoir": "0"})),
    "mp3 ABR": ("a.mp3", "libmp3lame", 44100, 2, "s16p", dict(bit_rate=112000, options={"abr": "1"})),
    "mp3 in matroska": ("a.mka", "libmp3lame", 44100, 2, "s16p", dict(bit_rate=128000)),
    "mp3 without Xing": ("a.mp3", "libmp3lame", 44100, 1, "s16p", dict(bit_rate=64000, container_options={"write_xing": "0"})),
    "aac in mp4": ("a.m4a", "aac", 48000, 2, "fltp", dict(bit_rate=96000)),
    "aac in adts": ("a.aac", "aac", 44100, 1, "fltp", dict(bit_rate=64000)),
    "aac 48 kHz": ("a.m4a", "aac", 48000, 1, "fltp", dict(bit_rate=128000)),
    "aac 24 kHz": ("a.aac", "aac", 24000, 2, "fltp", dict(bit_rate=48000)),
    "aac 8 kHz": ("a.m4a", "aac", 8000, 1, "fltp", dict(bit_rate=12000)),
    "aac of noise": ("a.m4a", "aac", 44100, 2, "fltp", dict(bit_rate=48000)),
    "aac in matroska": ("a.mka", "aac", 44100, 1, "fltp", dict(bit_rate=64000)),
    "opus in ogg": ("a.opus", "libopus", 48000, 1, "s16", dict(bit_rate=32000)),
    "opus in ogg, music": ("a.opus", "libopus", 48000, 2, "s16", dict(bit_rate=96000, container="ogg")),
    "opus in ogg, clicks in stereo": ("a.opus", "libopus", 48000, 2, "s16", dict(bit_rate=24000, container="ogg", options={"application": "lowdelay"})),
    "opus in ogg, on many pages": ("a.opus", "libopus", 48000, 2, "s16", dict(bit_rate=510000, container="ogg")),
    "opus in webm": ("a.webm", "libopus", 48000, 2, "s16", dict(bit_rate=64000)),
    "opus in mp4": ("a.mp4", "libopus", 48000, 2, "s16", dict(bit_rate=64000)),
    "flac": ("a.flac", "flac", 44100, 2, "s16", {}),
    "flac 5.1": ("a.flac", "flac", 48000, 6, "s16", {}),
    "flac in ogg": ("a.oga", "flac", 16000, 1, "s16", {}),
    "alac": ("a.m4a", "alac", 44100, 2, "s16p", {}),
    "ac3": ("a.ac3", "ac3", 48000, 6, "fltp", dict(bit_rate=384000)),
    "aiff": ("a.aiff", "pcm_s16be", 44100, 2, "s16", {}),
    "aiff 24": ("a.aiff", "pcm_s24be", 44100, 2, "s32", {}),
    "aiff 5.1": ("a.aiff", "pcm_s32be", 48000, 6, "s32", {}),
    "aifc sowt": ("a.aifc", "pcm_s16le", 44100, 1, "s16", dict(container="aiff")),
    "aifc fl32": ("a.aifc", "pcm_f32be", 44100, 2, "flt", dict(container="aiff")),
    "aifc mu-law": ("a.aifc", "pcm_mulaw", 8000, 1, "s16", dict(container="aiff")),
    "au": ("a.au", "pcm_s16be", 8000, 1, "s16", {}),
    "au 8": ("a.au", "pcm_s8", 8000, 2, "u8", {}),
    "au mu-law": ("a.au", "pcm_mulaw", 8000, 1, "s16", {}),
    "au A-law": ("a.au", "pcm_alaw", 8000, 2, "s16", {}),
    "au double": ("a.au", "pcm_f64be", 44100, 2, "dbl", {}),
    "caf": ("a.caf", "pcm_s16le", 8000, 1, "s16", {}),
    "caf 24": ("a.caf", "pcm_s24be", 44100, 2, "s32", {}),
    "caf float": ("a.caf", "pcm_f32le", 44100, 2, "flt", {}),
    "A-law WAV": ("a.wav", "pcm_alaw", 8000, 2, "s16", {}),
    "mu-law WAV": ("a.wav", "pcm_mulaw", 8000, 1, "s16", {}),
    "ADPCM WAV": ("a.wav", "adpcm_ms", 16000, 1, "s16", {}),
    "24-bit WAV": ("a.wav", "pcm_s24le", 44100, 2, "s32", {}),
    "RF64": ("a.wav", "pcm_s16le", 44100, 2, "s16", dict(container_options={"rf64": "always"})),
    "W64": ("a.w64", "pcm_s16le", 44100, 2, "s16", {}),
    "W64 float": ("a.w64", "pcm_f32le", 44100, 6, "flt", {}),
    "wavpack": ("a.wv", "wavpack", 44100, 2, "s16p", {}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_frames_are_pyavs(audio, tmp_path, name):
    file, codec, rate, channels, sample_format, more = FORMATS[name]
    try:
        path = encode(tmp_path / file, codec, rate, channels, sample_format, rate + 77, **more)
    except (av.error.FFmpegError, ValueError) as e:
        pytest.skip(f"PyAV does not write it: {e}")
    want = decode(path)
    got = audio.row(path)
    assert got.shape == want.shape and audio.info["rate"] == rate
    near = {"aac": 2e-6, "ac3": 2e-5, "libopus": 2e-5, "libmp3lame": 3e-6}
    np.testing.assert_allclose(got, want, rtol=0, atol=near.get(codec, 1e-6))
    assert np.array_equal(audio.row(path, file=True), got)


@pytest.mark.parametrize("cut", [0.02, 0.3, 0.7, 0.99])
@pytest.mark.parametrize("name", ["mp3 CBR", "aac in mp4", "flac", "opus in ogg", "24-bit WAV", "W64", "aiff", "au", "caf"])
def test_a_cut_file_is_named_or_shorter(audio, tmp_path, name, cut):
    file, codec, rate, channels, sample_format, more = FORMATS[name]
    path = encode(tmp_path / file, codec, rate, channels, sample_format, rate, **more)
    whole = audio.row(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * cut)])
    try:
        got = audio.row(path)
    except RowError as e:
        assert e.cause in ("truncated", "corrupt", "not_media", "no_stream", "no_frames")
    else:
        assert got.shape[1] <= whole.shape[1]
        assert name == "aac in mp4" or cut == 0.99


CONTAINERS = {
    "opus in ogg": ("a.opus", "libopus", "s16", {}),
    "vorbis in ogg": ("a.ogg", "vorbis", "fltp", {}),
    "flac in ogg": ("a.oga", "flac", "s16", {}),
    "aac in fragments": ("a.m4a", "aac", "fltp", dict(container_options={"movflags": "frag_keyframe+empty_moov", "frag_duration": "100000"})),
    "ADPCM in WAV": ("a.wav", "adpcm_ms", "s16", {}),
    "mp3 in AVI": ("a.avi", "libmp3lame", "s16p", {}),
    "wma in ASF": ("a.wma", "wmav2", "fltp", dict(bit_rate=128000)),
    "SoX": ("a.sox", "pcm_s32le", "s32", {}),
    "TTA": ("a.tta", "tta", "s16", {}),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_file_that_ends_before_its_container_does_is_truncated(audio, tmp_path, name):
    file, codec, sample_format, more = CONTAINERS[name]
    path = encode(tmp_path / file, codec, 48000, 2, sample_format, 48000, options={"strict": "experimental"}, **more)
    whole = path.read_bytes()
    want = audio.row(path)
    assert want.shape[1] > 40000
    silent = []
    for cut in range(len(whole) // 3, len(whole), len(whole) // 40):
        path.write_bytes(whole[:cut])
        try:
            got = audio.row(path)
        except RowError as e:
            assert e.cause == "truncated", e
        else:
            if not np.array_equal(got, want):  # an AVI without the end of its index has all of its sound
                silent.append((cut, got.shape))
    assert not silent, f"of {len(whole)} bytes"
