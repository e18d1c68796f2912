#!/usr/bin/env python3
"""Clips of large films, each opened anew: milliseconds a clip, and of films on a server also the bytes that cross the network, of ours
(spdl.io and a ring), torchcodec (exact and approximate) and PyAV.

    films.py [--clips 12] [--rounds 5] [--delay-ms 10] [--fragments] [--out FILE.json]

Three films of two minutes at 640 x 360 in H.264 with a key frame every two seconds, about 180 MB each, are made once, as plain MP4 or, with
--fragments, with a fragment for each group of pictures. A clip is 16 frames, every second one, from a random frame on, as RGB of the film's
size. "disk" has them in the page cache; "server" is an HTTP server of ranges on loopback, in a process of its own, which answers after
--delay-ms. All decode on one thread; the ring's decoders are as many as there are CPUs, and more where they wait. Indices that ours keeps are
kept in every round but "first": that has none. Rounds are interleaved; a ratio compares within a round, and is the median over rounds.
A clip of ours or torchcodec's that lacks a frame ends the run; PyAV's seek may land behind the first frames, which are counted.
"""

import argparse
import http.server
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILMS = ROOT / "build/bench/video/films"
FRAMES, RATE, SECONDS, STEP, COUNT = 24 * 120, 24, 120, 2, 16
os.environ.setdefault("SPDL_LIBRARY", str(ROOT / "build/libspdl.so"))
os.environ.setdefault("SPDL_LOG", "error")
sys.path.insert(0, str(ROOT / "clients/python"))
import spdl  # noqa: E402
import spdl.io  # noqa: E402


def make(names, flags):
    FILMS.mkdir(parents=True, exist_ok=True)
    for k, name in enumerate(names):
        film = FILMS / name
        if not film.exists():
            part = film.with_name(f"part.{name}")
            picture = f"testsrc2=size=640x360:rate={RATE}:duration={SECONDS},noise=alls={20 + k}:allf=t"
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", picture, "-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p",
                            "-g", str(2 * RATE), "-b:v", "12M", "-maxrate", "12M", "-bufsize", "24M", *flags, part], check=True)
            part.rename(film)


class Ranges(http.server.BaseHTTPRequestHandler):
    """Files by range, and what was sent of them so far as /sent."""

    protocol_version, sent, lock, delay = "HTTP/1.1", 0, threading.Lock(), 0.0

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        if self.path == "/sent":
            return self.say(200, str(Ranges.sent).encode(), {})
        time.sleep(self.delay)
        film = FILMS / pathlib.Path(self.path).name
        size, asked = film.stat().st_size, self.headers.get("Range")
        first, _, last = (asked or "bytes=0-").removeprefix("bytes=").partition("-")
        first, last = int(first), min(int(last or size - 1), size - 1)
        with open(film, "rb") as f:
            f.seek(first)
            body = f.read(last - first + 1) if self.command == "GET" else b""
        more = {"ETag": f'"{size:x}"', "Accept-Ranges": "bytes"}
        if asked:
            more["Content-Range"] = f"bytes {first}-{last}/{size}"
        self.say(206 if asked else 200, body, more, last - first + 1)

    def say(self, status, body, more, length=None):
        self.send_response(status)
        for key, value in {**more, "Content-Length": str(len(body) if length is None else length)}.items():
            self.send_header(key, value)
        self.end_headers()
        for at in range(0, len(body), 1 << 16):
            try:
                self.wfile.write(body[at:at + (1 << 16)])
            except OSError:
                self.close_connection = True
                return
            if self.path != "/sent":
                with Ranges.lock:
                    Ranges.sent += len(body[at:at + (1 << 16)])

    def log_message(self, *_):
        pass


def serve(delay):
    Ranges.delay = delay
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


def ours(film, indices, cache):
    return spdl.io.load_video(film, select={"kind": "indices", "indices": indices}, index_dir=cache).numpy()


def torchcodec(mode):
    def clip(film, indices, _):
        from torchcodec.decoders import VideoDecoder

        return VideoDecoder(film, dimension_order="NHWC", num_ffmpeg_threads=1, seek_mode=mode).get_frames_at(indices).data.numpy()

    return clip


def pyav(film, indices, _):
    import av

    out, wanted = [], set(indices)
    with av.open(film) as f:
        s = f.streams.video[0]
        s.codec_context.thread_count = 1
        tick = float(1 / s.average_rate / s.time_base)
        f.seek(round((s.start_time or 0) + indices[0] * tick), stream=s)
        for frame in f.decode(s):
            k = round((frame.pts - (s.start_time or 0)) / tick)
            if k in wanted:
                out.append(frame.to_ndarray(format="rgb24"))
            if k >= indices[-1]:
                break
    return out


def ring(place, clips, folder, cache):
    """All clips from a ring."""
    table = folder / "clips.csv"
    table.write_text("path,first\n" + "".join(f"{place}/{film},\"{first / RATE}\"\n" for film, first in clips))
    columns = [{"name": "first", "type": "f64"}]
    spec = {"name": f"films{os.getpid()}", "source": {"list": str(table), "labels": "none", "columns": columns}, "batch": 4, "order": {"shuffle": False, "epochs": 1},
            "video": {"frames": COUNT, "select": {"kind": "every", "step": STEP}, "transform": [{"resize": [360, 640]}], "window": {"start_column": "first", "duration": f"{(COUNT * STEP - 0.5) / RATE}s"}},
            "cache": {"video_index_dir": str(cache)}}
    rows = 0
    with spdl.open(spec, engine=str(ROOT / "build/spdl")) as loader:
        began = time.perf_counter()
        for batch in loader:
            assert batch.n_bad == 0 and (batch["frames"] == COUNT).all()
            rows += len(batch["frames"])
        seconds = time.perf_counter() - began
    assert rows == len(clips)
    return seconds


def sent(address):
    return int(urllib.request.urlopen(address + "/sent").read())


def measure(address, place, clips, folder):
    """Milliseconds a clip, and MB, of each contender in one round."""
    kept, out = folder / "kept", {}
    contenders = {"spdl.io": ours, "spdl.io, first": ours, "torchcodec, approximate": torchcodec("approximate"), "torchcodec": torchcodec("exact"), "PyAV": pyav}
    random.shuffle(names := list(contenders))
    for name in names:
        before, began, lacking = sent(address), time.perf_counter(), 0
        for film, first in clips:
            cache = tempfile.mkdtemp(dir=folder) if name.endswith("first") else str(kept)
            frames = contenders[name](f"{place}/{film}", list(range(first, first + COUNT * STEP, STEP)), cache)
            assert len(frames) == COUNT or name == "PyAV", (name, len(frames))
            lacking += COUNT - len(frames)
        out[name] = {"ms": (time.perf_counter() - began) / len(clips) * 1000, "mb": (sent(address) - before) / len(clips) / 1e6, "lacking": lacking}
    before = sent(address)
    out["spdl's ring"] = {"ms": ring(place, clips, folder, kept) / len(clips) * 1000, "mb": (sent(address) - before) / len(clips) / 1e6, "lacking": 0}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--delay-ms", type=float, default=10)
    parser.add_argument("--fragments", action="store_true")
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    if args.serve is not None:
        return serve(args.serve)
    films = [f"{k}.fragments.mp4" if args.fragments else f"{k}.mp4" for k in range(3)]
    make(films, ["-movflags", "frag_keyframe+empty_moov"] if args.fragments else [])
    server = subprocess.Popen([sys.executable, __file__, "--serve", str(args.delay_ms / 1000)], stdout=subprocess.PIPE, text=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "kept").mkdir()
    rounds = {"disk": [], "server": []}
    try:
        address = server.stdout.readline().strip()
        rng = random.Random(1)
        for i in range(args.rounds + 1):
            clips = [(films[rng.randrange(3)], rng.randrange(FRAMES - COUNT * STEP)) for _ in range(args.clips)]
            for place in rounds:
                one = measure(address, str(FILMS) if place == "disk" else address, clips, folder)
                if i > 0:  # the first round warms up
                    rounds[place].append(one)
                print(f"round {i}, {place}: " + ", ".join(f"{name} {v['ms']:.0f} ms {v['mb']:.1f} MB" for name, v in sorted(one.items())), file=sys.stderr)
    finally:
        server.kill()
        shutil.rmtree(folder)
    result = {"command": " ".join(["bench/video/films.py", *sys.argv[1:]]), "films_mb": [(FILMS / film).stat().st_size / 1e6 for film in films], "rounds": rounds}
    print("| | ms a clip | beside spdl.io | MB a clip | frames lacking |\n|---|---:|---:|---:|---:|")
    for place, all_ in rounds.items():
        for name in sorted(all_[0]):
            def middle(what):
                return statistics.median(map(what, all_))

            print(f"| {place}: {name} | {middle(lambda r: r[name]['ms']):.1f} | {middle(lambda r: r[name]['ms'] / r['spdl.io']['ms']):.2f} | {middle(lambda r: r[name]['mb']):.1f} "
                  f"| {sum(r[name]['lacking'] for r in all_)} of {len(all_) * args.clips * COUNT} |")
    if args.out:
        args.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
