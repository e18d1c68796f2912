#!/usr/bin/env python3
"""Make pictures to load: a benchmark corpus, or a small folder to look at.

    make_corpus.py photos OUT [--n 2000] [--seed 1] [--jobs 2] [--png]
        JPEGs with ImageNet's statistics: mostly 500x375, 4:2:0, about 0.52 byte per pixel, in class
        folders; a share of grayscale, CMYK, progressive, optimised and restart-marked files. With
        --png each is decoded and written as a PNG, RGB, as Pillow does it.
    make_corpus.py shapes OUT [--n 240] [--seed 1] [--photos DIR]
        Coloured shapes, one class a folder, several formats and sizes: easy to judge by eye. With
        --photos, real photographs found there make a class of their own.

File i depends on (seed, i) alone. Needs NumPy and Pillow.
"""

import argparse
import io
import json
import multiprocessing
import pathlib

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

# Cumulative share of (width, height); the rest is drawn from wider ranges.
COMMON_SIZES = [
    (0.40, (500, 375)), (0.50, (375, 500)), (0.62, (500, 333)), (0.66, (333, 500)),
    (0.69, (500, 500)), (0.73, (640, 480)), (0.75, (400, 300)),
]
BYTES_PER_PIXEL = 0.62  # median before large files are thinned


def draw_size(rng):
    """Width and height: ImageNet's usual sizes, and a tail up to 2,000 pixels."""
    u = rng.random()
    for share, size in COMMON_SIZES:
        if u < share:
            return size
    if u < 0.90:
        long, short = 500, int(rng.integers(300, 490))
    elif u < 0.98:
        short = int(rng.integers(300, 601))
        long = int(short * rng.uniform(1.0, 1.8))
    else:
        short = int(rng.integers(700, 1400))
        long = min(2000, int(short * rng.uniform(1.2, 1.55)))
    return (long, short) if rng.random() < 0.75 else (short, long)


def texture(rng, height, width, octaves=6):
    """Value noise summed over octaves, amplitude halving with size: the spectrum of natural pictures."""
    total = np.zeros((height, width), np.float32)
    for k in range(octaves):
        cells = 3 << k
        if cells > min(height, width):
            break
        grid = rng.standard_normal((max(2, cells * height // width), cells)).astype(np.float32)
        layer = Image.fromarray(grid).resize((width, height), Image.BICUBIC)
        total += np.asarray(layer) * 0.5**k
    return total / (total.std() + 1e-6)


def scene(rng, width, height):
    """A picture of overlapping lit surfaces with textures, float32 [H, W, 3]."""
    base = rng.uniform(50, 200, 3).astype(np.float32)
    canvas = np.empty((height, width, 3), np.float32)
    canvas[:] = base + texture(rng, height, width)[..., None] * rng.uniform(15, 45)
    mask_image = Image.new("L", (width, height))
    for radius in np.sort(rng.pareto(1.4, int(rng.integers(40, 140))) * 8 + 6)[::-1]:
        radius = min(float(radius), 0.6 * min(width, height))
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        mask_image.paste(0, (0, 0, width, height))
        draw = ImageDraw.Draw(mask_image)
        if rng.random() < 0.5:
            flat = rng.uniform(0.4, 1.0)
            draw.ellipse([x - radius, y - radius * flat, x + radius, y + radius * flat], fill=255)
        else:
            turn = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 8))))
            draw.polygon([(x + radius * np.cos(t), y + radius * np.sin(t)) for t in turn], fill=255)
        left, top, right, bottom = mask_image.getbbox() or (0, 0, 0, 0)
        if right <= left or bottom <= top:
            continue
        inside = np.asarray(mask_image)[top:bottom, left:right, None] > 0
        lit = np.linspace(-1, 1, bottom - top, dtype=np.float32)[:, None, None] * rng.uniform(-30, 30)
        grain = rng.standard_normal((bottom - top, right - left, 1)).astype(np.float32) * rng.uniform(0, 8)
        colour = base + rng.normal(0, 45) + rng.normal(0, 25, 3)
        canvas[top:bottom, left:right] = np.where(inside, colour + lit + grain, canvas[top:bottom, left:right])
    return np.clip(canvas, 0, 255)


def photo_options(rng, index):
    mode = "CMYK" if index % 1000 == 500 else "L" if rng.random() < 0.01 else "RGB"
    u = rng.random()
    options = {"subsampling": 0 if u < 0.11 else 1 if u < 0.14 else 2} if mode == "RGB" else {}
    if rng.random() < 0.03:
        options["progressive"] = True
    elif rng.random() < 0.30:
        options["optimize"] = True
    if rng.random() < 0.02:
        options["restart_marker_rows"] = 1
    return mode, options


def encode(pixels, mode, quality, options):
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    buffer = io.BytesIO()
    (image if mode == "RGB" else image.convert(mode)).save(buffer, "JPEG", quality=quality, **options)
    return buffer.getvalue()


def encode_to_target(rng, pixels, mode, quality, options, target):
    """Search camera noise, then quality, until the file has about target bytes per pixel."""
    noise = rng.standard_normal(pixels.shape).astype(np.float32)
    noise = 0.5 * noise + noise.mean(axis=2, keepdims=True)
    count = pixels.shape[0] * pixels.shape[1]
    low, high = 0.0, 14.0
    for _ in range(5):
        middle = (low + high) / 2
        data = encode(pixels + middle * noise, mode, quality, options)
        low, high = (middle, high) if len(data) / count < target else (low, middle)
    while len(data) / count < 0.9 * target and quality < 95:
        quality += 1
        data = encode(pixels + middle * noise, mode, quality, options)
    return data


def make_photo(job):
    index, seed, out, png = job
    rng = np.random.default_rng([seed, index])
    width, height = draw_size(rng)
    mode, options = photo_options(rng, index)
    target = float(np.clip(np.exp(rng.normal(np.log(BYTES_PER_PIXEL), 0.36)), 0.15, 1.6))
    if width * height > 500_000:
        target *= 0.6
    quality = int(round(rng.triangular(75, 93, 95)))
    data = encode_to_target(rng, scene(rng, width, height), mode, quality, options, target)
    folder = out / f"class{index * 7919 % 100:02d}"
    folder.mkdir(parents=True, exist_ok=True)
    if png:
        buffer = io.BytesIO()
        Image.open(io.BytesIO(data)).convert("RGB").save(buffer, "PNG")
        data = buffer.getvalue()
    (folder / f"{index:06d}.{'png' if png else 'jpg'}").write_bytes(data)
    return width * height, len(data)


def make_photos(out, n, seed, jobs, png):
    with multiprocessing.Pool(jobs) as pool:
        rows = np.array(pool.map(make_photo, [(i, seed, out, png) for i in range(n)], chunksize=8))
    print(json.dumps({
        "files": n, "bytes": int(rows[:, 1].sum()), "median_file_bytes": int(np.median(rows[:, 1])),
        "bytes_per_pixel": round(rows[:, 1].sum() / rows[:, 0].sum(), 3), "median_pixels": int(np.median(rows[:, 0])),
    }))


def polygon(sides, turn=0.0):
    return lambda draw, x, y, r, c: draw.polygon(
        [(x + r * np.cos(turn + 2 * np.pi * k / sides), y + r * np.sin(turn + 2 * np.pi * k / sides)) for k in range(sides)],
        fill=c)


def ring(draw, x, y, r, c):
    draw.ellipse([x - r, y - r, x + r, y + r], outline=c, width=max(3, int(r / 4)))


def disc(draw, x, y, r, c):
    draw.ellipse([x - r, y - r, x + r, y + r], fill=c)


SHAPES = {
    "circle": disc, "ring": ring, "triangle": polygon(3, -np.pi / 2), "square": polygon(4, np.pi / 4),
    "pentagon": polygon(5, -np.pi / 2), "hexagon": polygon(6),
}
FORMATS = [("jpg", {"quality": 90}), ("jpg", {"quality": 75, "progressive": True}), ("png", {}), ("jpg", {"quality": 95, "subsampling": 0}),
           ("webp", {"quality": 90}), ("bmp", {}), ("jpg", {"quality": 85})]


def make_shape(index, seed, out):
    rng = np.random.default_rng([seed, index])
    name = list(SHAPES)[index % len(SHAPES)]
    width, height = int(rng.integers(160, 520)), int(rng.integers(160, 520))
    ground = np.clip(rng.uniform(40, 215, 3) + texture(rng, height, width, 4)[..., None] * 12, 0, 255)
    image = Image.fromarray(ground.astype(np.uint8))
    for _ in range(int(rng.integers(2, 6))):
        r = rng.uniform(0.12, 0.32) * min(width, height)
        colour = tuple(int(c) for c in rng.uniform(0, 255, 3))
        SHAPES[name](ImageDraw.Draw(image), rng.uniform(r, width - r), rng.uniform(r, height - r), r, colour)
    image = image.filter(ImageFilter.GaussianBlur(0.6))
    if index % 17 == 0:
        image = image.convert("L")
    suffix, options = FORMATS[index % len(FORMATS)]
    folder = out / name
    folder.mkdir(parents=True, exist_ok=True)
    image.save(folder / f"{index:04d}.{suffix}", **options)


def make_shapes(out, n, seed, photos):
    for i in range(n):
        make_shape(i, seed, out)
    found = sorted(p for d in photos for p in pathlib.Path(d).rglob("*.jpg") if p.is_file())[:24]
    for i, path in enumerate(found):
        (out / "photo").mkdir(parents=True, exist_ok=True)
        image = Image.open(path).convert("RGB")
        image.thumbnail((640, 640))
        image.save(out / "photo" / f"{i:04d}.jpg", quality=90)
    print(f"{n} shapes in {len(SHAPES)} classes" + (f", {len(found)} photographs" if found else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["photos", "shapes"])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--n", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--png", action="store_true")
    parser.add_argument("--photos", action="append", default=[])
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.what == "photos":
        make_photos(args.out, args.n or 2000, args.seed, args.jobs, args.png)
    else:
        make_shapes(args.out, args.n or 240, args.seed, args.photos)


if __name__ == "__main__":
    main()
