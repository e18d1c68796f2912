"""Pictures that Go makes, too (core/media's splitmix), and sizes to resize them to: what make_cv2.py and make_torch.py write digests of."""

import hashlib

import numpy as np


def made(seed, w, h, channels):
    """Bytes of splitmix64; of every third picture only 0 and 255, the largest over- and undershoots."""
    with np.errstate(over="ignore"):
        z = (np.arange(w * h * channels, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out = (z >> np.uint64(56)).astype(np.uint8)
    if seed % 3 == 0:
        out = (out >> 7) * np.uint8(255)
    return out.reshape((h, w, channels) if channels > 1 else (h, w))


def shape(rng, kind):
    """(w, h) in and out: any, by whole numbers, by two, grown by whole numbers, along one side, of one pixel, and of extreme ratios."""

    def n(low, high):
        return int(rng.integers(low, high))

    if kind == 0:
        return n(1, 200), n(1, 200), n(1, 200), n(1, 200)
    if kind == 1:
        w, h = n(1, 40), n(1, 40)
        return w * n(1, 7), h * n(1, 7), w, h
    if kind == 2:
        w, h = n(1, 90), n(1, 90)
        return 2 * w, 2 * h, w, h
    if kind == 3:
        w, h = n(1, 40), n(1, 40)
        return w, h, w * n(1, 6), h * n(1, 6)
    if kind == 4:
        w, h = n(1, 150), n(1, 150)
        return (w, h, w, n(1, 150)) if n(0, 2) else (w, h, n(1, 150), h)
    if kind == 5:
        return (1 if n(0, 2) else n(1, 9)), n(1, 150), n(1, 150), (1 if n(0, 2) else n(1, 9))
    return (n(900, 2500), n(1, 20), n(1, 30), n(1, 300)) if n(0, 2) else (n(1, 20), n(900, 2500), n(1, 300), n(1, 30))


def shapes(count, seed):
    rng = np.random.default_rng(seed)
    return [shape(rng, i % 7) for i in range(count)]


def digests(count, seed, filters):
    """Lines of a table: what each filter, called with the pixels and (w, h), makes of so many pictures."""
    for number, (w, h, ow, oh) in enumerate(shapes(count, seed)):
        channels = 1 + 2 * (number // 7 % 2)
        for name, resize in filters.items():
            out = resize(made(number, w, h, channels), (ow, oh))
            yield "\t".join(map(str, (name, number, channels, w, h, ow, oh, hashlib.sha256(out.tobytes()).hexdigest()[:16])))
