#!/usr/bin/env python3
"""One file at a time by spdl.io, beside what programs take for it: interleaved rounds, medians with quartiles.

    .venv-bench/bin/python bench/single.py --out FILE.json [--rounds 9] [--only LANE]

Lanes, each from bytes and from a path, in one thread of one process:
  jpeg_32, jpeg_350, png_350    to [H, W, 3] u8: Pillow, np.asarray(Image.open(...).convert("RGB"))
  the same to 224               resized to 224 x 224, bilinear, by the same bytes: Pillow, resize((224, 224), BILINEAR) in between
  wav_1s                        a second of 16 kHz, mono, 16 bits, to [1, 16000] f32: PyAV, and the standard library's wave with numpy
  wav_1s to 8000                resampled: PyAV's resampler
Time is of the processors, of all threads of the process; a round is as many calls as take 0.2 s; the pictures are synthetic photos (tests/exact's).
"""

import argparse
import io
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import wave

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/exact")]
SECONDS = 0.2


def files():
    from PIL import Image

    from conftest import picture

    rng = np.random.default_rng(1)
    made = {}
    for name, side, kind, said in (("jpeg_32", 32, "JPEG", {"quality": 90}), ("jpeg_350", 350, "JPEG", {"quality": 90}), ("png_350", 350, "PNG", {})):
        file = io.BytesIO()
        Image.fromarray(picture(rng, side, side)).save(file, kind, **said)
        made[name] = file.getvalue()
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes((8000 * np.sin(np.arange(16000) * 0.05) + rng.normal(0, 300, 16000)).astype("<i2").tobytes())
    return {**made, "wav_1s": file.getvalue()}


def opened(source):
    return io.BytesIO(source) if isinstance(source, bytes) else source


def pictures():
    import spdl.io
    from PIL import Image

    def pillow(source, size=None):
        with Image.open(opened(source)) as image:
            image = image.convert("RGB")
            return np.asarray(image if size is None else image.resize(size, Image.Resampling.BILINEAR))

    resized = [{"resize": [224, 224]}]
    return {
        "": {"spdl": lambda source: spdl.io.load_image(source).numpy(), "Pillow": pillow},
        " to 224": {"spdl": lambda source: spdl.io.load_image(source, transform=resized).numpy(), "Pillow": lambda source: pillow(source, (224, 224))},
    }


def sounds():
    import av
    import spdl.io

    def pyav(source, rate=None):
        with av.open(opened(source)) as container:
            resampler = av.AudioResampler("fltp", "mono", rate)
            frames = [made for frame in container.decode(audio=0) for made in resampler.resample(frame)]
            return np.concatenate([frame.to_ndarray() for frame in frames + resampler.resample(None)], axis=1)

    def standard(source):
        with wave.open(opened(source)) as sound:
            return np.frombuffer(sound.readframes(sound.getnframes()), "<i2").astype(np.float32).reshape(1, -1) / 32768

    return {
        "": {"spdl": lambda source: spdl.io.load_audio(source).numpy(), "PyAV": pyav, "wave": standard},
        " to 8000": {"spdl": lambda source: spdl.io.load_audio(source, sample_rate=8000).numpy(), "PyAV": lambda source: pyav(source, 8000)},
    }


def once(call, source, calls):
    """Seconds of a processor a call."""
    began = time.process_time()
    for _ in range(calls):
        call(source)
    return (time.process_time() - began) / calls


def race(contenders, source, rounds):
    first = {who: call(source) for who, call in contenders.items()}
    for who, result in first.items():
        assert result.shape == first["spdl"].shape, (who, result.shape)
    calls = {who: max(1, round(SECONDS / once(call, source, 3))) for who, call in contenders.items()}
    seen = {who: [] for who in contenders}
    for i in range(rounds):
        for who in list(contenders)[::1 if i % 2 else -1]:
            seen[who].append(once(contenders[who], source, calls[who]) * 1e6)

    def quartiles(values, digits):
        return [round(q, digits) for q in statistics.quantiles(values, n=4, method="inclusive")]

    return {who: {
        "microseconds": quartiles(runs, 1),
        **({} if who == "spdl" else {"spdl_over_this": quartiles([theirs / ours for theirs, ours in zip(runs, seen["spdl"])], 2)}),
    } for who, runs in seen.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", help="lanes with this in their names")
    args = parser.parse_args()
    result = {"command": f"bench/single.py --rounds {args.rounds}", "unit": "quartiles", "lanes": {}}
    with tempfile.TemporaryDirectory() as below:
        for name, data in files().items():
            path = os.path.join(below, name)
            pathlib.Path(path).write_bytes(data)
            for more, contenders in (sounds() if name.startswith("wav") else pictures()).items():
                for how, source in (("bytes", data), ("path", path)):
                    lane = f"{name}{more}, {how}"
                    if args.only and args.only not in lane:
                        continue
                    made = result["lanes"][lane] = race(contenders, source, args.rounds)
                    print(f"{lane:28}" + "".join(f"{who} {m['microseconds'][1]:.1f} us{' (%.2f)' % m['spdl_over_this'][1] if 'spdl_over_this' in m else ''}  " for who, m in made.items()),
                          file=sys.stderr, flush=True)
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
