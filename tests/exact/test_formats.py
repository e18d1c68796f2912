"""Pictures that are not JPEG against Pillow 11.1: through FFmpeg, and PNG and GIF without it."""

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import picture
from tools import RowError


def save(path, im, kind, **kw):
    im.save(path, kind, **kw)
    return Image.open(path)


def expect(rows, path, im, size=(48, 64)):
    """Rows of the picture as it is, resized, and grey equal Pillow's."""
    rgb = im.convert("RGB")
    assert np.array_equal(rows.row(path, Resize=(rgb.height, rgb.width)), np.asarray(rgb))
    want = np.asarray(rgb.resize(size[::-1], Image.BICUBIC))
    assert np.array_equal(rows.row(path, Resize=size, Interpolation=1), want)
    want = np.asarray(rgb.convert("L").resize(size[::-1], Image.BILINEAR))
    assert np.array_equal(rows.row(path, Resize=size, Mode=1).reshape(size), want)


PNG_MODES = ["RGB", "RGBA", "L", "LA", "P", "1"]


def png_picture(rng, mode, w, h):
    if mode == "P":
        return Image.fromarray(picture(rng, w, h)).quantize(int(rng.integers(2, 257)))
    if mode == "1":
        return Image.fromarray(picture(rng, w, h, 1)).convert("1")
    channels = len(mode)
    data = picture(rng, w, h, channels)
    return Image.fromarray(data, mode)


def png_cases(rng, rows, path):
    for mode in PNG_MODES:
        for w, h in ((61, 47), (1, 1), (9, 33)):
            expect(rows, path, save(path, png_picture(rng, mode, w, h), "PNG"))
    p = png_picture(rng, "P", 40, 30)
    expect(rows, path, save(path, p, "PNG", transparency=1))
    p = png_picture(rng, "P", 40, 30)
    expect(rows, path, save(path, p, "PNG", transparency=bytes(range(0, 200))))
    expect(rows, path, save(path, png_picture(rng, "RGB", 40, 30), "PNG", transparency=(1, 2, 3)))
    expect(rows, path, save(path, png_picture(rng, "L", 40, 30), "PNG", transparency=7))


def test_png_of_every_mode_equals_pillow(rows, tmp_path):
    png_cases(np.random.default_rng(1), rows, tmp_path / "a.png")


def test_png_without_ffmpeg_equals_pillow(rows_without_ffmpeg, tmp_path):
    png_cases(np.random.default_rng(2), rows_without_ffmpeg, tmp_path / "a.png")


def chunk(kind, data):
    return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")


def png(w, h, depth, colour, rows, extra=b"", interlace=0):
    head = w.to_bytes(4, "big") + h.to_bytes(4, "big") + bytes([depth, colour, 0, 0, interlace])
    body = zlib.compress(b"".join(b"\0" + r for r in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def test_sixteen_bit_png_gives_the_high_byte(rows, rows_without_ffmpeg, tmp_path):
    """As Pillow does for colour. For grey Pillow clips at 255, which whitens nearly every pixel; not followed."""
    rng = np.random.default_rng(3)
    path = tmp_path / "a.png"
    for colour, channels in ((0, 1), (4, 2), (2, 3), (6, 4)):
        v = rng.integers(0, 65536, (20, 30, channels)).astype(">u2")
        if channels in (2, 4):
            v[..., -1] = 65535
        path.write_bytes(png(30, 20, 16, colour, [r.tobytes() for r in v]))
        high = (v >> 8).astype(np.uint8)
        want = high[..., :3] if channels >= 3 else np.repeat(high[..., :1], 3, axis=2)
        for r in (rows, rows_without_ffmpeg):
            assert np.array_equal(r.row(path, Resize=(20, 30)), want), colour
        if channels >= 3:
            assert np.array_equal(np.asarray(Image.open(path).convert("RGB")), want)


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_small_depths_of_grey_and_palette_equal_pillow(rows, rows_without_ffmpeg, tmp_path, depth):
    rng = np.random.default_rng(depth)
    path = tmp_path / "a.png"
    palette = chunk(b"PLTE", rng.integers(0, 256, 3 << depth).astype(np.uint8).tobytes())
    for colour, extra in ((0, b""), (3, palette), (0, chunk(b"gAMA", (45455).to_bytes(4, "big")))):
        lines = [rng.integers(0, 256, (37 * depth + 7) // 8).astype(np.uint8).tobytes() for _ in range(21)]
        path.write_bytes(png(37, 21, depth, colour, lines, extra))
        for r in (rows, rows_without_ffmpeg):
            expect(r, path, Image.open(path))


def test_gif_first_frame_equals_pillow(rows, rows_without_ffmpeg, tmp_path):
    rng = np.random.default_rng(4)
    path = tmp_path / "a.gif"
    for kw in ({}, dict(transparency=3), dict(interlace=1)):
        frames = [png_picture(rng, "P", 50, 40) for _ in range(3)]
        frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], **kw)
        for r in (rows, rows_without_ffmpeg):
            im = Image.open(path)
            expect(r, path, im)


@pytest.mark.parametrize("frames, begins", [(1, True), (1, False), (2, True)])
def test_first_picture_of_an_animated_png_equals_pillow(rows, rows_without_ffmpeg, tmp_path, frames, begins):
    """Also where the animation has one frame, and where its first picture is none of them."""
    first, second = (picture(np.random.default_rng(i), 61, 47) for i in (1, 2))
    lines = [zlib.compress(b"".join(b"\0" + row.tobytes() for row in p)) for p in (first, second)]

    def control(number):
        return chunk(b"fcTL", struct.pack(">5I2H2B", number, 61, 47, 0, 0, 1, 25, 0, 0))  # PNG's 3rd edition, 11.3.6.2

    later = int(begins)  # the number of the next chunk of the animation
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 61, 47, 8, 2, 0, 0, 0)) + chunk(b"acTL", struct.pack(">2I", frames, 0))
                     + control(0) * begins + chunk(b"IDAT", lines[0])
                     + (control(later) + chunk(b"fdAT", struct.pack(">I", later + 1) + lines[1])) * (frames > begins) + chunk(b"IEND", b""))
    im = Image.open(path)
    assert im.n_frames == frames + (not begins) and np.array_equal(np.asarray(im), first)
    for tool in (rows, rows_without_ffmpeg):
        expect(tool, path, im)


def gif(screen, box, pixels, table=b"", local=b"", transparent=None, background=0):
    """A GIF of one picture of four colours at the box; its codes are eight times as long as they need be."""
    bits = "".join(f"{v:03b}"[::-1] for p in pixels for v in (4, p)) + "101"
    codes = bytes(int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))
    blocks = b"".join(bytes([len(codes[i:i + 255])]) + codes[i:i + 255] for i in range(0, len(codes), 255)) + b"\0"
    extension = b"" if transparent is None else b"\x21\xf9\4" + bytes([1, 5, 0, transparent]) + b"\0"
    head = b"GIF89a" + struct.pack("<HHBBB", *screen, 0x81 if table else 0, background, 0) + table + extension
    return head + b"\x2c" + struct.pack("<HHHHB", *box, 0x81 if local else 0) + local + b"\2" + blocks + b";"


@pytest.mark.parametrize("screen,box", [
    ((30, 20), (5, 7, 10, 8)), ((30, 20), (0, 0, 30, 20)), ((20, 20), (10, 10, 15, 15)), ((10, 8), (0, 0, 30, 20)), ((0, 0), (0, 0, 15, 15)), ((30, 20), (0, 12, 30, 8)),
])
@pytest.mark.parametrize("tables", ["global", "local", "both"])
@pytest.mark.parametrize("transparent", [None, 0, 2])
def test_gif_picture_anywhere_on_its_screen_equals_pillow(rows, rows_without_ffmpeg, tmp_path, screen, box, tables, transparent):
    rng = np.random.default_rng(18)
    table, local = (rng.integers(0, 256, 12).astype(np.uint8).tobytes() for _ in range(2))
    path = tmp_path / "a.gif"
    path.write_bytes(gif(screen, box, rng.integers(0, 4, box[2] * box[3]).tolist(), table if tables != "local" else b"",
                         local if tables != "global" else b"", transparent, background=3))
    want = np.asarray(Image.open(path).convert("RGB"))
    for r in (rows, rows_without_ffmpeg):
        assert np.array_equal(r.row(path, Resize=want.shape[:2]), want)


def adam7(pixels):
    """The rows of the seven passes of an interlaced PNG, each with its filter's byte."""
    out = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        part = pixels[y0::dy, x0::dx]
        if part.shape[1]:
            out += b"".join(b"\0" + r.tobytes() for r in part)
    return out


@pytest.mark.parametrize("colour,channels,extra", [(0, 1, b""), (2, 3, b""), (4, 2, b""), (6, 4, b""), (2, 3, struct.pack(">3H", 7, 7, 7))])
def test_interlaced_png_of_sixteen_bits_keeps_colours_under_alpha(rows, rows_without_ffmpeg, tmp_path, colour, channels, extra):
    v = np.random.default_rng(colour).integers(0, 65536, (21, 33, channels)).astype(">u2")
    v[:5, :5] = 7
    if channels in (2, 4):
        v[5:9, :, -1] = 0
    head = struct.pack(">IIBBBBB", 33, 21, 16, colour, 0, 0, 1)
    path = tmp_path / "a.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"tRNS", extra) if extra else b"") + chunk(b"IDAT", zlib.compress(adam7(v))) + chunk(b"IEND", b""))
    high = (v >> 8).astype(np.uint8)
    want = high[..., :3] if channels >= 3 else np.repeat(high[..., :1], 3, axis=2)
    for r in (rows, rows_without_ffmpeg):
        assert np.array_equal(r.row(path, Resize=(21, 33)), want)


def test_webp_lossy_and_lossless_equal_pillow(rows, rows_without_ffmpeg, tmp_path):
    rng = np.random.default_rng(5)
    path = tmp_path / "a.webp"
    for w, h in ((64, 48), (63, 47), (1, 1), (2, 1), (1, 2), (3, 3), (17, 90)):
        for kw in (dict(quality=30), dict(quality=80), dict(lossless=True)):
            expect(rows, path, save(path, Image.fromarray(picture(rng, w, h)), "WEBP", **kw))
    for kw in (dict(quality=80), dict(lossless=True, exact=True)):
        im = save(path, Image.fromarray(picture(rng, 64, 48, 4), "RGBA"), "WEBP", **kw)
        for r in (rows, rows_without_ffmpeg):
            expect(r, path, im)


def test_first_frame_of_an_animated_webp_equals_pillow(rows, tmp_path):
    rng = np.random.default_rng(15)
    path = tmp_path / "a.webp"
    for kw in (dict(quality=80), dict(lossless=True, exact=True), dict(lossless=True, minimize_size=True)):
        for mode, channels in (("RGB", 3), ("RGBA", 4)):
            frames = [Image.fromarray(picture(rng, 50, 40, channels), mode) for _ in range(3)]
            frames[0].save(path, "WEBP", save_all=True, append_images=frames[1:], **kw)
            expect(rows, path, Image.open(path))


@pytest.mark.parametrize("orientation", [1, 4, 6])
def test_parts_of_a_webp_are_those_of_the_whole_picture(rows, tmp_path, orientation):
    rng = np.random.default_rng(16)
    path = tmp_path / "a.webp"
    exif = Image.Exif()
    exif[0x0112] = orientation
    for kw in (dict(quality=20), dict(quality=85), dict(lossless=True)):
        Image.fromarray(picture(rng, 130, 110)).save(path, "WEBP", exif=exif, **kw)
        im = ImageOps.exif_transpose(Image.open(path).convert("RGB"))
        for _ in range(40):
            x, y = int(rng.integers(0, im.width - 10)), int(rng.integers(0, im.height - 10))
            bw, bh = int(rng.integers(1, im.width + 1 - x)), int(rng.integers(1, im.height + 1 - y))
            want = im.crop((x, y, x + bw, y + bh)).resize((40, 30), Image.BILINEAR)
            for mode, converted in ((0, want), (1, im.convert("L").crop((x, y, x + bw, y + bh)).resize((40, 30), Image.BILINEAR))):
                got = rows.row(path, Random={}, Out=(30, 40), Orient=True, Mode=mode, draw=dict(Replay=True, Box=dict(Y=y, X=x, H=bh, W=bw)))
                assert np.array_equal(got.squeeze(), np.asarray(converted))


@pytest.mark.parametrize("kind,modes", [
    ("BMP", ["RGB", "L", "P", "1", "RGBA"]),
    ("TIFF", ["RGB", "L", "P", "1", "RGBA", "LA", "CMYK"]),
    ("PPM", ["RGB", "L", "1"]),
    ("PCX", ["RGB", "L", "P"]),
    ("SGI", ["RGB", "L", "RGBA"]),
])
def test_other_formats_equal_pillow(rows, tmp_path, kind, modes):
    rng = np.random.default_rng(6)
    path = tmp_path / "a.img"
    for mode in modes:
        expect(rows, path, save(path, png_picture(rng, mode, 61, 47), kind))


@pytest.mark.parametrize("kind", ["PPM", "BMP", "TIFF", "SGI", "PCX"])
def test_pictures_of_one_column_equal_pillow(rows, tmp_path, kind):
    """Whatever value a row has: none of them is taken for one that nothing was written to."""
    rng = np.random.default_rng(26)
    column = np.concatenate([np.arange(256), rng.integers(0, 256, 344)]).astype(np.uint8)[:, None]
    expect(rows, tmp_path / "a.img", save(tmp_path / "a.img", Image.fromarray(column), kind))


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("end", [b"\0\0\0\1", b"\0\0", b"\0\1"])
def test_bmp_of_runs_equals_pillow_however_its_last_line_ends(rows, tmp_path, bits, end):
    width, height = 12, 5
    line = bytes([width, 0x12])
    data = b"\0\0".join([line] * height) + end
    colours = bytes(i for c in range(1 << bits) for i in (c, 255 - c, c // 2, 0))
    at = 14 + 40 + len(colours)
    head = struct.pack("<2sIHHI", b"BM", at + len(data), 0, 0, at)
    head += struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 2 if bits == 4 else 1, len(data), 0, 0, 1 << bits, 0)
    path = tmp_path / "a.bmp"
    path.write_bytes(head + colours + data)
    want = Image.open(path).convert("RGB").resize((20, 20), Image.BILINEAR)
    assert np.array_equal(rows.row(path, Resize=(20, 20)), np.asarray(want))


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_deflate", "packbits"])
def test_tiff_compressions_equal_pillow(rows, tmp_path, compression):
    rng = np.random.default_rng(7)
    path = tmp_path / "a.tif"
    expect(rows, path, save(path, Image.fromarray(picture(rng, 61, 47)), "TIFF", compression=compression))


def test_lossless_jpeg2000_equals_pillow(rows, tmp_path):
    rng = np.random.default_rng(8)
    for ext in ("jp2", "j2k"):
        path = tmp_path / f"a.{ext}"
        im = save(path, Image.fromarray(picture(rng, 61, 47)), "JPEG2000", irreversible=False)
        expect(rows, path, im)


def test_jpeg2000_in_ycc_is_within_one_of_pillow(rows, tmp_path):
    """Its Y, Cb and Cr are of full range."""
    path = tmp_path / "a.jp2"
    im = save(path, Image.fromarray(picture(np.random.default_rng(17), 61, 47), "YCbCr"), "JPEG2000", irreversible=False)
    want = np.asarray(im.convert("RGB")).astype(int)
    assert np.abs(rows.row(path, Resize=(47, 61)) - want).max() <= 1


@pytest.mark.parametrize("largest", [1, 7, 31, 100, 200, 254, 255, 256, 1000, 1023, 4095, 32767, 65534, 65535])
def test_netpbm_of_any_largest_value_equals_pillow(rows, tmp_path, largest):
    """Grey of more than 8 bits Pillow clips at 255, as of PNG; it is scaled as colours are."""
    rng = np.random.default_rng(largest)
    path = tmp_path / "a.ppm"
    kind = np.uint8 if largest < 256 else ">u2"
    for digit, plain, channels in ((5, 2, 1), (6, 3, 3)):
        v = rng.integers(0, largest + 1, (21, 33, channels))
        head = b"\n# made here\n33 21 # wide and high\n%d\n" % largest
        for data in (b"P%d" % digit + head + v.astype(kind).tobytes(), b"P%d" % plain + head + " ".join(map(str, v.ravel())).encode() + b"\n"):
            path.write_bytes(data)
            got = rows.row(path, Resize=(21, 33))
            assert np.array_equal(got, np.round(v / largest * 255).astype(np.uint8).repeat(3 // channels, 2))
            if channels == 3 or largest < 256:
                assert np.array_equal(got, np.asarray(Image.open(path).convert("RGB")))


@pytest.mark.parametrize("masks", [None, (0xF800, 0x7E0, 0x1F)])
def test_bmp_of_sixteen_bits_equals_pillow(rows, tmp_path, masks):
    w, h = 32, 64
    pixels = np.arange(w * h, dtype="<u2") * 32 + np.arange(w * h, dtype="<u2") % 31
    if masks is None:
        pixels &= 0x7FFF
    words = struct.pack("<3I", *masks) if masks else b""
    head = struct.pack("<IiiHHIIiiII", 40, w, h, 1, 16, 3 if masks else 0, 2 * w * h, 0, 0, 0, 0) + words
    path = tmp_path / "a.bmp"
    path.write_bytes(b"BM" + struct.pack("<IHHI", 14 + len(head) + 2 * w * h, 0, 0, 14 + len(head)) + head + pixels.tobytes())
    expect(rows, path, Image.open(path))


@pytest.mark.parametrize("size", [0, 54])
@pytest.mark.parametrize("header", [40, 52])
def test_bmp_of_rare_heads_equals_pillow(rows, tmp_path, size, header):
    """The file's size left out, or that of its head alone; a head of the second version, which has masks."""
    w, h = 32, 20
    pixels = np.random.default_rng(20).integers(0, 256, (h, w, 4)).astype(np.uint8)
    masks = struct.pack("<3I", 0xFF0000, 0xFF00, 0xFF)
    head = struct.pack("<IiiHHIIiiII", header, w, h, 1, 32, 3, pixels.nbytes, 0, 0, 0, 0) + masks
    path = tmp_path / "a.bmp"
    path.write_bytes(b"BM" + struct.pack("<IHHI", size, 0, 0, 14 + len(head)) + head + pixels.tobytes())
    expect(rows, path, Image.open(path))


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_exif_of_png_and_webp_is_honoured_when_asked(rows, tmp_path, kind, orientation):
    rng = np.random.default_rng(9)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "a.img"
    im = save(path, Image.fromarray(picture(rng, 40, 30)), kind, exif=exif, lossless=True)
    for orient, want in ((False, im), (True, ImageOps.exif_transpose(im))):
        want = want.convert("RGB")
        assert np.array_equal(rows.row(path, Resize=want.size[::-1], Orient=orient), np.asarray(want))


def test_exif_under_a_name_and_behind_an_empty_one_is_found(rows, tmp_path):
    """An eXIf chunk that begins as JPEG's segment does, and a JPEG whose first segment has nothing in it."""
    path = tmp_path / "a.img"
    tiff = b"MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
    b = io.BytesIO()
    Image.fromarray(picture(np.random.default_rng(19), 40, 30)).save(b, "PNG")
    data = b.getvalue()
    named_png = data[:33] + chunk(b"eXIf", b"Exif\0\0" + tiff) + data[33:]
    b = io.BytesIO()
    Image.fromarray(picture(np.random.default_rng(19), 40, 30)).save(b, "JPEG")
    data = b.getvalue()
    jpeg = data[:2] + b"\xff\xe1\0\x08Exif\0\0" + b"\xff\xe1" + struct.pack(">H", 8 + len(tiff)) + b"Exif\0\0" + tiff + data[2:]
    for data in (named_png, jpeg):
        path.write_bytes(data)
        want = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
        assert want.size == (30, 40)
        assert np.array_equal(rows.row(path, Resize=(40, 30), Orient=True), np.asarray(want))


def test_crops_and_flips_of_other_formats_equal_pillow(rows, tmp_path):
    rng = np.random.default_rng(10)
    path = tmp_path / "a.png"
    im = save(path, Image.fromarray(picture(rng, 90, 70)), "PNG")
    for _ in range(50):
        x, y = int(rng.integers(0, 80)), int(rng.integers(0, 60))
        bw, bh = int(rng.integers(1, 91 - x)), int(rng.integers(1, 71 - y))
        want = im.crop((x, y, x + bw, y + bh)).resize((40, 30), Image.BILINEAR).transpose(Image.FLIP_LEFT_RIGHT)
        draw = dict(Replay=True, Flip=True, Box=dict(Y=y, X=x, H=bh, W=bw))
        assert np.array_equal(rows.row(path, Random={}, Out=(30, 40), draw=draw), np.asarray(want))


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "BMP", "TIFF"])
def test_every_truncation_is_a_named_failure(rows, rows_without_ffmpeg, tmp_path, kind):
    rng = np.random.default_rng(11)
    b = io.BytesIO()
    png_picture(rng, "P" if kind == "GIF" else "RGB", 40, 30).save(b, kind)
    data, path = b.getvalue(), tmp_path / "a.img"
    tools = [rows] + ([rows_without_ffmpeg] if kind in ("PNG", "GIF", "WEBP") else [])
    for n in [*range(32 if kind != "TIFF" else 200, len(data) - 12, 11), *([len(data) - 11, len(data) - 4, len(data) - 1] if kind == "PNG" else [])]:
        path.write_bytes(data[:n])
        for r in tools:
            with pytest.raises(RowError) as e:
                r.row(path, Resize=(20, 20))
            assert e.value.cause == ("corrupt" if kind == "TIFF" else "truncated"), n


@pytest.mark.parametrize("kind", ["PNG", "GIF", "WEBP", "BMP", "TIFF"])
def test_damage_never_crashes_and_later_pictures_are_whole(rows, tmp_path, kind):
    rng = np.random.default_rng(12)
    b = io.BytesIO()
    png_picture(rng, "P" if kind == "GIF" else "RGB", 40, 30).save(b, kind)
    good, path = b.getvalue(), tmp_path / "a.img"
    path.write_bytes(good)
    want = rows.row(path, Resize=(20, 20))
    for _ in range(60):
        bad = bytearray(good)
        for at in rng.integers(0, len(bad), 5):
            bad[at] = int(rng.integers(256))
        path.write_bytes(bytes(bad))
        try:
            rows.row(path, Resize=(20, 20), portable_too=False)
        except RowError as e:
            assert e.cause in ("corrupt", "truncated", "unsupported", "not_an_image", "too_many_pixels")
        path.write_bytes(good)
        assert np.array_equal(rows.row(path, Resize=(20, 20)), want)


def test_a_dds_that_ffmpeg_does_not_know_is_unsupported(rows, tmp_path):
    path = tmp_path / "a.dds"
    save(path, Image.fromarray(picture(np.random.default_rng(22), 40, 30)).convert("L"), "DDS")
    with pytest.raises(RowError) as e:
        rows.row(path, Resize=(20, 20))
    assert e.value.cause == "unsupported"


def test_a_build_without_ffmpeg_names_the_full_build(rows_without_ffmpeg, tmp_path):
    rng = np.random.default_rng(13)
    path = tmp_path / "a.bmp"
    save(path, Image.fromarray(picture(rng, 40, 30)), "BMP")
    with pytest.raises(RowError, match="full build") as e:
        rows_without_ffmpeg.row(path, Resize=(20, 20))
    assert e.value.cause == "unsupported"
