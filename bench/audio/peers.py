#!/usr/bin/env python3
"""Sounds into rows of 16 kHz mono float32 on one thread or several: spdl beside a plain C loop, PyAV, torchaudio and soundfile, interleaved rounds.

    .venv-bench/bin/python bench/audio/peers.py [--threads 1] [--rounds 5] [--seconds 1] [--out FILE.json]

The corpus (8 sounds of 10 seconds a format, of 15 of flac16, of 180 of mp3_window and aac_window) is made in build/bench/audio. Figures are medians over the rounds of CPU
milliseconds a file, of files a second on several threads of one process, each with a decoder of its own; ratios compare within a round. The plain loop uses the FFmpeg that spdl uses; PyAV brings one of its own, whose version is
printed.
"""

import argparse
import json
import pathlib
import platform
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "build/bench/audio"
N = 8
FORMATS = {  # name: suffix, codec, rate, channels, sample format, bit rate
    "mp3": (".mp3", "libmp3lame", 44100, 2, "s16p", 128000),
    "aac": (".m4a", "aac", 44100, 2, "fltp", 128000),
    "opus": (".ogg", "libopus", 48000, 2, "s16", 96000),
    "flac": (".flac", "flac", 44100, 2, "s16", None),
    "flac16": (".flac", "flac", 16000, 1, "s16", None),  # what speech corpora are kept in
    "wav": (".wav", "pcm_s16le", 16000, 1, "s16", None),
    "wav44": (".wav", "pcm_s16le", 44100, 2, "s16", None),
    "mp3_window": (".mp3", "libmp3lame", 44100, 2, "s16p", 128000),  # two seconds in the middle of a song
    "aac_window": (".m4a", "aac", 44100, 2, "fltp", 128000),
    "w64": (".w64", "pcm_s16le", 16000, 1, "s16", None),  # the WAV's samples in another container
}


SECONDS = {"flac16": 15, "mp3_window": 180, "aac_window": 180}  # others: 10
WINDOW = {"mp3_window": (100, 2), "aac_window": (100, 2)}  # seconds: where it begins, how long it is


def make(name):
    """The corpus of one format; kept."""
    import av
    import numpy as np

    suffix, codec, rate, channels, sample_format, bit_rate = FORMATS[name]
    files = [CORPUS / f"{name}_{i}{suffix}" for i in range(N)]
    CORPUS.mkdir(parents=True, exist_ok=True)
    for i, path in enumerate(files):
        if path.exists():
            continue
        rng, t = np.random.default_rng(i), np.arange(rate * SECONDS.get(name, 10)) / rate
        x = sum(np.sin(2 * np.pi * h * (90 + 15 * i) * t * (1 + 0.02 * t)) / h for h in range(1, 25)) * (0.6 + 0.4 * np.sin(2 * np.pi * 4 * t))
        x = np.stack([0.2 * x + 0.02 * rng.standard_normal(len(t)) for _ in range(channels)], 1)
        data = np.clip(x * 32767, -32768, 32767).astype(np.int16).reshape(1, -1)
        part = path.with_name(f"part{suffix}")
        with av.open(str(part), "w") as container:
            layout = "mono" if channels == 1 else "stereo"
            stream = container.add_stream(codec, rate=rate, layout=layout)
            stream.codec_context.format = sample_format
            if bit_rate:
                stream.bit_rate = bit_rate
            frame = av.AudioFrame.from_ndarray(data, "s16", layout)
            frame.sample_rate, frame.pts = rate, 0
            for packet in [*stream.encode(frame), *stream.encode(None)]:
                container.mux(packet)
        part.rename(path)
    return [str(f) for f in files]


def pyav():
    import av
    import numpy as np

    def decode(path):
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=16000)
        with av.open(path) as container:
            parts = [f.to_ndarray()[0] for frame in container.decode(audio=0) for f in resampler.resample(frame)]
        parts += [f.to_ndarray()[0] for f in resampler.resample(None)]
        return np.concatenate(parts)

    return decode


def pyav_window(seek=False):
    """The window alone, which is exact only where the file is decoded from its beginning; what lies before is not resampled. A seek lands on a frame
    nearby, and gives other samples than the window's."""
    import av
    import numpy as np

    begin, duration = WINDOW["mp3_window"]

    def decode(path):
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=16000)
        parts = []
        with av.open(path) as container:
            if seek:
                container.seek(begin * 1000000)
            for frame in container.decode(audio=0):
                if frame.time >= begin + duration:
                    break
                if seek or frame.time + frame.samples / frame.rate > begin:
                    parts += [f.to_ndarray()[0] for f in resampler.resample(frame)]
        parts += [f.to_ndarray()[0] for f in resampler.resample(None)]
        return np.concatenate(parts)[: 16000 * duration]

    return decode


def pyav_torchaudio():
    """PyAV decodes, torchaudio resamples: what equals ours in value."""
    import av
    import numpy as np
    import torch

    torch.version.cuda = "13.0"  # torchaudio refuses a torch built for another CUDA; nothing here runs on one
    import torchaudio.transforms

    torch.set_num_threads(1)
    resamplers = {}

    def decode(path):
        with av.open(path) as container:
            rate = container.streams.audio[0].rate
            parts = []
            for frame in container.decode(audio=0):
                a = frame.to_ndarray()
                if not frame.format.is_planar:
                    a = a.reshape(-1, frame.layout.nb_channels).T
                parts.append(a if a.dtype == np.float32 else a.astype(np.float32) / 32768)
        mono = torch.from_numpy(np.concatenate(parts, 1)).mean(0)
        if rate == 16000:
            return mono.numpy()
        if rate not in resamplers:
            resamplers[rate] = torchaudio.transforms.Resample(rate, 16000)
        return resamplers[rate](mono).numpy()

    return decode


def meta_spdl():
    """Meta's SPDL: load_audio with its filter graph, load_wav where that reads the file."""
    import numpy as np
    import spdl.io

    description = spdl.io.get_audio_filter_desc(sample_rate=16000, num_channels=1, sample_fmt="fltp")

    def decode(path):
        return np.asarray(spdl.io.to_numpy(spdl.io.load_audio(path, filter_desc=description))).reshape(-1)

    return decode


def meta_spdl_wav():
    import spdl.io

    def decode(path):
        with open(path, "rb") as f:
            data = f.read()
        return spdl.io.to_numpy(spdl.io.load_wav(data)).astype("f4")[:, 0] / 32768

    return decode


def soundfile():
    import soundfile as sf

    def decode(path):
        x, rate = sf.read(path, dtype="float32", always_2d=True)
        assert rate == 16000
        return x.mean(1) if x.shape[1] > 1 else x[:, 0]

    return decode


CONTENDERS = {"pyav": pyav, "pyav_torchaudio": pyav_torchaudio, "meta_spdl": meta_spdl, "meta_spdl_wav": meta_spdl_wav, "soundfile": soundfile,
              "pyav_window": pyav_window, "pyav_seek": lambda: pyav_window(seek=True)}
WAV_ALONE = ("soundfile", "meta_spdl_wav")
WINDOW_ALONE = ("pyav_window", "pyav_seek")


def measure_python(decoders, files, seconds):
    for decode in decoders:
        for f in files:
            samples = len(decode(f))
    done, cpu, began = [0] * len(decoders), time.process_time(), time.perf_counter()

    def work(i):
        while time.perf_counter() - began < seconds:
            for f in files:
                decoders[i](f)
            done[i] += len(files)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, len(decoders))]
    for t in threads:
        t.start()
    work(0)
    for t in threads:
        t.join()
    wall, used, n = time.perf_counter() - began, time.process_time() - cpu, sum(done)
    return {"files_per_second": n / wall, "cpu_ms_per_file": 1000 * used / n, "samples": samples}


def measure_program(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def rounds(args):
    contenders = {}
    for name, start in CONTENDERS.items():
        try:
            contenders[name] = [start() for _ in range(args.threads)]
        except (ImportError, RuntimeError) as e:
            print(f"{name} is left out: {e}", file=sys.stderr)
    results = {}
    for name in args.formats:
        files = make(name)
        for i in range(args.rounds):
            begin, length = WINDOW.get(name, (0, SECONDS.get(name, 10)))
            ours = [CORPUS / "audio", "-threads", str(args.threads), "-seconds", str(args.seconds), "-start", str(begin), "-length", str(16000 * length)]
            runs = {"spdl": lambda: measure_program(*ours, *files), "spdl_mel": lambda: measure_program(*ours, "-mel", *files)}
            if name not in WINDOW:
                runs["plain_c"] = lambda: measure_program(CORPUS / "loop", str(args.seconds), str(args.threads), *files)
            for c, decoders in contenders.items():
                if (c in WINDOW_ALONE) == (name in WINDOW) and (c not in WAV_ALONE or name == "wav"):
                    runs[c] = lambda decoders=decoders: measure_python(decoders, files, args.seconds)
            order = list(runs)
            for c in order[i % len(order):] + order[: i % len(order)]:
                results.setdefault(name, {}).setdefault(c, []).append(runs[c]())
    return results


def table(results, threads):
    lines = ["| format | contender | CPU ms a file | files/s | x spdl's CPU |", "|---|---|---|---|---|"]
    if threads > 1:
        lines[0] = f"| format | contender | CPU ms a file | files/s, {threads} threads | spdl's x its files/s |"
    for name, by in results.items():
        for c, runs in by.items():
            ratio = statistics.median(r["cpu_ms_per_file"] / s["cpu_ms_per_file"] if threads == 1 else s["files_per_second"] / r["files_per_second"]
                                      for r, s in zip(runs, by["spdl"]))
            lines.append(f"| {name} | {c} | {statistics.median(r['cpu_ms_per_file'] for r in runs):.3f} | "
                         f"{statistics.median(r['files_per_second'] for r in runs):.0f} | {ratio:.2f} |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1)
    p.add_argument("--formats", nargs="*", default=list(FORMATS))
    p.add_argument("--out", type=pathlib.Path)
    args = p.parse_args()
    CORPUS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["go", "build", "-o", CORPUS / "audio", "./bench/audio/spdl"], cwd=ROOT, check=True)
    libraries = ["pkg-config", "--cflags", "--libs", "libavformat", "libavcodec", "libswresample", "libavutil"]
    flags = subprocess.run(libraries, check=True, capture_output=True, text=True).stdout.split()
    subprocess.run(["cc", "-std=gnu11", "-O2", "-o", CORPUS / "loop", ROOT / "bench/audio/plain/loop.c", *flags, "-pthread"], check=True)
    results = rounds(args)
    import av
    about = {"python": platform.python_version(), "pyav": av.__version__, "libavcodec": ".".join(map(str, av.library_versions["libavcodec"]))}
    print(table(results, args.threads))
    print(json.dumps(about))
    if args.out:
        args.out.write_text(json.dumps({"about": about, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
