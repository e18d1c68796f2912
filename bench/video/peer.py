"""peer.py NAME FILE PASSES THREADS [COUNT]: what pyav, opencv and torchcodec take for the same frames as RGB arrays."""

import io
import json
import resource
import sys

import numpy as np

name, path, passes, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
count = int(sys.argv[5]) if len(sys.argv) > 5 else 0
N = 300
indices = [int(i) for i in np.linspace(0, N - 1, count)] if count else list(range(N))
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


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


run = {"pyav": pyav, "opencv": opencv, "torchcodec": torchcodec}[name]
if name == "torchcodec":
    import torch

    torch.set_num_threads(threads)
run()
start = cpu()
frames = sum(run() for _ in range(passes))
print(json.dumps({"frames": frames, "cpu_seconds": round(cpu() - start, 4)}))
