"""peer.py NAME FILE PASSES THREADS FRAMES COUNT: what a peer takes for the same frames as RGB arrays: all FRAMES of the file where COUNT
is 0, or else COUNT even ones. The names with "seeking" go to each wanted frame's key frame, the others decode on."""

import io
import json
import resource
import sys

import numpy as np

name, path = sys.argv[1], sys.argv[2]
passes, threads, total, count = map(int, sys.argv[3:])
indices = [int(i) for i in np.linspace(0, total - 1, count)] if count else list(range(total))
data = open(path, "rb").read()


def pyav():
    import av

    wanted, out = set(indices), []
    with av.open(io.BytesIO(data)) as f:
        s = f.streams.video[0]
        s.codec_context.thread_count = threads
        for i, frame in enumerate(f.decode(s)):
            if i in wanted:
                out.append(frame.to_ndarray(format="rgb24"))
            if i == indices[-1]:
                break
    return len(out)


def pyav_seeking():
    import av

    out = []
    with av.open(io.BytesIO(data)) as f:
        s = f.streams.video[0]
        s.codec_context.thread_count = threads
        tick = float(1 / s.average_rate / s.time_base)
        for i in indices:
            at = (s.start_time or 0) + i * tick
            f.seek(round(at), stream=s)
            out.append(next(fr for fr in f.decode(s) if fr.pts >= at - tick / 2).to_ndarray(format="rgb24"))
    return len(out)


def opencv():
    import cv2

    c = cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, threads])
    wanted, n = set(indices), 0
    for i in range(indices[-1] + 1):
        c.grab()
        if i in wanted:
            frame = c.retrieve()[1]
            cv2.cvtColor(frame, cv2.COLOR_BGR2RGB, frame)
            n += 1
    return n


def torchcodec():
    from torchcodec.decoders import VideoDecoder

    d = VideoDecoder(data, dimension_order="NHWC", num_ffmpeg_threads=threads)
    return len(d.get_frames_at(indices).data)


def torchvision(seeking=False):
    import torch
    from torchvision import io as tv, set_video_backend

    set_video_backend("video_reader")
    reader = tv.VideoReader(path, "video", num_threads=threads)
    rate = reader.get_metadata()["video"]["fps"][0]
    wanted, out = set(indices), []
    if seeking:
        for i in indices:
            reader.seek(i / rate)
            out.append(next(reader)["data"])
    else:
        for i, frame in zip(range(indices[-1] + 1), reader):
            if i in wanted:
                out.append(frame["data"])
    return len(torch.stack(out))


def torchvision_seeking():
    return torchvision(seeking=True)


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


run = {f.__name__: f for f in (pyav, pyav_seeking, opencv, torchcodec, torchvision, torchvision_seeking)}[name]
if name.startswith("torch"):
    import torch

    torch.set_num_threads(threads)
run()
start = cpu()
frames = sum(run() for _ in range(passes))
print(json.dumps({"frames": frames, "cpu_seconds": round(cpu() - start, 4)}))
