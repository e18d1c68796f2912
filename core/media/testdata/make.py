"""Make the small pictures of damaged/, one or more of each format, which damage_test.go cuts and flips. Run with Pillow 12.1 and PyAV 18.1.0;
the files are committed because another encoder writes other bytes."""

import fractions
import pathlib

import av
import numpy as np
from PIL import Image

HERE = pathlib.Path(__file__).parent / "damaged"
W, H = 24, 18


def picture(channels=3):
    y, x = np.mgrid[0:H, 0:W]
    planes = [(127 + 100 * np.sin(0.3 * (c + 1) * x + 0.5 * y) + 20 * ((x // 5 + y // 3) % 2)) for c in range(channels)]
    return np.clip(np.stack(planes, -1), 0, 255).astype(np.uint8)


def mode(name):
    rgb = Image.fromarray(picture())
    if name == "P":
        return rgb.quantize(60)
    if name == "1":
        return rgb.convert("1")
    if name in ("LA", "RGBA", "CMYK"):
        return Image.fromarray(picture(len(name)), name)
    return rgb.convert(name)


def by_pillow():
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, m, kind, options in (
        ("baseline.jpg", "RGB", "JPEG", dict(quality=85, exif=exif)), ("progressive.jpg", "RGB", "JPEG", dict(quality=85, progressive=True)),
        ("full_chroma.jpg", "RGB", "JPEG", dict(quality=95, subsampling=0, optimize=True)), ("grey.jpg", "L", "JPEG", {}),
        ("cmyk.jpg", "CMYK", "JPEG", {}), ("restarts.jpg", "RGB", "JPEG", dict(restart_marker_rows=1)),
        ("rgb.png", "RGB", "PNG", dict(exif=exif)), ("rgba.png", "RGBA", "PNG", {}), ("palette.png", "P", "PNG", dict(transparency=1)), ("bits.png", "1", "PNG", {}),
        ("palette.gif", "P", "GIF", {}), ("interlaced.gif", "P", "GIF", dict(interlace=1, transparency=2)),
        ("lossy.webp", "RGB", "WEBP", dict(quality=70)), ("lossless.webp", "RGBA", "WEBP", dict(lossless=True)), ("alpha.webp", "RGBA", "WEBP", dict(quality=70)),
        ("rgb.bmp", "RGB", "BMP", {}), ("palette.bmp", "P", "BMP", {}),
        ("raw.tif", "RGB", "TIFF", dict(exif=exif)), ("lzw.tif", "RGB", "TIFF", dict(compression="tiff_lzw")),
        ("deflate.tif", "RGBA", "TIFF", dict(compression="tiff_deflate")), ("packbits.tif", "P", "TIFF", dict(compression="packbits")),
        ("rgb.jp2", "RGB", "JPEG2000", {}), ("rgb.j2k", "RGB", "JPEG2000", dict(irreversible=True)),
        ("rgb.ppm", "RGB", "PPM", {}), ("bits.pbm", "1", "PPM", {}), ("palette.pcx", "P", "PCX", {}), ("rgb.pcx", "RGB", "PCX", {}),
        ("rgb.sgi", "RGB", "SGI", {}), ("rgba.dds", "RGBA", "DDS", {}),
    ):
        mode(m).save(HERE / name, kind, **options)


def by_ffmpeg():
    for name, codec, pixels in (("rgb.qoi", "qoi", "rgb24"), ("float.exr", "exr", "gbrpf32le"), ("rgb.sun", "sunrast", "bgr24"),
                                ("deep.png", "png", "rgb48be"), ("runs.sgi", "sgi", "rgb24")):
        c = av.CodecContext.create(codec, "w")
        c.width, c.height, c.pix_fmt, c.time_base = W, H, pixels, fractions.Fraction(1)
        frame = av.VideoFrame.from_ndarray(picture(), "rgb24").reformat(format=pixels)
        frame.pts = 0
        (HERE / name).write_bytes(b"".join(bytes(p) for p in [*c.encode(frame), *c.encode(None)]))


def by_hand():
    """A Photoshop file, for which nobody has an encoder: RGB, not packed."""
    head = b"8BPS" + (1).to_bytes(2, "big") + bytes(6) + (3).to_bytes(2, "big") + H.to_bytes(4, "big") + W.to_bytes(4, "big") + (8).to_bytes(2, "big") + (3).to_bytes(2, "big")
    (HERE / "raw.psd").write_bytes(head + bytes(12) + bytes(2) + picture().transpose(2, 0, 1).tobytes())


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    by_pillow()
    by_ffmpeg()
    by_hand()
