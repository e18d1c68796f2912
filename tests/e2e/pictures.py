"""Pictures on disk, and what must become of them: the bytes of a batch computed with Pillow alone."""

import pathlib
import struct
import typing
import zlib

import numpy as np
from PIL import Image


class Sample(typing.NamedTuple):
    path: pathlib.Path
    key: str
    label: int


class Folder(typing.NamedTuple):
    path: pathlib.Path
    samples: list  # in the engine's order: by the bytes of the key


def picture(rng, w, h):
    """Smooth colour with edges and noise: enough to make every coefficient matter."""
    y, x = np.mgrid[0:h, 0:w].astype(np.float32)
    waves = [127 + 100 * np.sin(rng.uniform(0.01, 0.4) * x + rng.uniform(0.01, 0.4) * y + rng.uniform(0, 6)) for _ in range(3)]
    out = np.stack(waves, axis=-1) + 60 * ((x // 7 + y // 5) % 2)[..., None] + rng.normal(0, 9, (h, w, 3))
    return Image.fromarray(np.clip(out, 0, 255).astype(np.uint8))


def sized(directory, sizes):
    """PNGs of these sizes (w, h) in a directory, in their order; it, and the pictures."""
    rng = np.random.default_rng(3)
    made = [picture(rng, *size) for size in sizes]
    for i, image in enumerate(made):
        image.save(directory / f"{i}.png")
    return directory, made


def save(rng, image, path, kind):
    """One of the kinds a folder is made of; returns the path with its ending."""
    match kind:
        case "jpeg":
            image.save(path := path.with_suffix(".jpg"), quality=int(rng.integers(60, 97)), subsampling=int(rng.integers(3)))
        case "progressive":
            image.save(path := path.with_suffix(".jpeg"), quality=85, progressive=True)
        case "gray":
            image.convert("L").save(path := path.with_suffix(".JPG"), quality=90)
        case "png":
            image.save(path := path.with_suffix(".png"))
        case "palette":
            image.quantize(64).save(path := path.with_suffix(".png"))
    return path


KINDS = ["jpeg", "jpeg", "jpeg", "progressive", "gray", "png", "palette"]


def make_folder(directory, n, side=(40, 160), seed=1):
    """n pictures in the classes a, b and c, of every kind that the engine must decode without FFmpeg too."""
    rng = np.random.default_rng(seed)
    paths = []
    for i in range(n):
        path = directory / "abc"[i % 3] / f"{int(rng.integers(10**6)):06}-{i}"
        path.parent.mkdir(exist_ok=True)
        w, h = (int(v) for v in rng.integers(*side, 2))
        paths.append(save(rng, picture(rng, w, h), path, KINDS[i % len(KINDS)]))
    return folder_of(directory, paths)


def folder_of(directory, paths):
    keys = sorted((str(path.relative_to(directory)) for path in paths), key=str.encode)
    return Folder(directory, [Sample(directory / key, key, "abc".index(key[0])) for key in keys])


# ---- what must become of them


def resize_short_and_crop(size, crop):
    """torchvision's Resize(int), bilinear and antialiased, then CenterCrop, on a picture that is not smaller."""

    def apply(image):
        w, h = image.size
        if min(w, h) != size:
            long = int(size * max(w, h) / min(w, h))
            image = image.resize((size, long) if w <= h else (long, size), Image.BILINEAR)
        w, h = image.size
        left, top = int(round((w - crop) / 2.0)), int(round((h - crop) / 2.0))
        return np.asarray(image.crop((left, top, left + crop, top + crop)))

    return apply


def resize_bicubic(h, w):
    return lambda image: np.asarray(image.resize((w, h), Image.BICUBIC))


def row(sample, transform):
    """[H, W, 3] uint8 of one sample."""
    with Image.open(sample.path) as image:
        return transform(image.convert("RGB"))


def hash_of(rows, *tensors):
    """What the examples print with --hash, examples/README.md: tensors are arrays, or (values, offsets) of ragged ones."""
    crc = zlib.crc32(struct.pack("<I", rows))
    for tensor in tensors:
        for part in tensor if isinstance(tensor, tuple) else (tensor,):
            crc = zlib.crc32(np.ascontiguousarray(part).tobytes(), crc)
    return f"{crc:08x}"


def expected_hash(samples, images, indexes):
    """The hash of a batch of these samples, from nothing but the files: image, index, key, status, label."""
    keys = [sample.key.encode() for sample in samples]
    offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
    return hash_of(len(samples), images, np.array(indexes, np.int64), (np.frombuffer(b"".join(keys), np.uint8), offsets),
                   np.zeros(len(samples), np.uint8), np.array([sample.label for sample in samples], np.int64))
