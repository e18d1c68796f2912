"""AVIF and HEIC stills against Pillow's plugins (libavif 1.3, libheif 1.23), and files that no plugin writes, put together here."""

import io
import struct

import numpy as np
import pillow_avif  # noqa: F401  registers AVIF
import pillow_heif
import pytest
from PIL import Image, ImageOps

from conftest import picture
from tools import RowError

pillow_heif.register_heif_opener()


def coded(im, kind, **kw):
    b = io.BytesIO()
    im.save(b, kind, **kw)
    return b.getvalue()


def read(rows, path, data, size, **config):
    path.write_bytes(data)
    return rows.row(path, Resize=size, **config)


def pillow(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def difference(a, b):
    return np.abs(a.astype(int) - b.astype(int))


# --- whole files, as the plugins write them


@pytest.mark.parametrize("size", [(161, 119), (64, 48), (33, 2)])
def test_lossless_heic_gives_the_very_pixels(rows, tmp_path, size):
    pixels = picture(np.random.default_rng(1), *size)
    data = coded(Image.fromarray(pixels), "HEIF", quality=-1, chroma=444, matrix_coefficients=0)
    assert np.array_equal(read(rows, tmp_path / "a.heic", data, pixels.shape[:2]), pixels)


@pytest.mark.parametrize("kw", [dict(), dict(range="limited"), dict(quality=30)])
def test_avif_with_full_chroma_is_within_two_of_libavif(rows, tmp_path, kw):
    im = Image.fromarray(picture(np.random.default_rng(2), 161, 119))
    data = coded(im, "AVIF", subsampling="4:4:4", **{"quality": 90, **kw})
    assert difference(read(rows, tmp_path / "a.avif", data, (119, 161)), pillow(data)).max() <= 2


@pytest.mark.parametrize("primaries,matrix", [(1, 1), (1, 4), (1, 6), (1, 7), (9, 9), (1, 12), (9, 12), (12, 12)])
def test_avif_of_every_matrix_is_within_two_of_libavif(rows, tmp_path, primaries, matrix):
    data = coded(Image.fromarray(picture(np.random.default_rng(7), 161, 119)), "AVIF", subsampling="4:4:4", quality=90)
    data = named_colours(data, primaries, matrix)
    assert difference(read(rows, tmp_path / "a.avif", data, (119, 161)), pillow(data)).max() <= 2


@pytest.mark.parametrize("matrix", [3, 8, 10, 11, 13, 14])
def test_avif_of_other_matrices_is_refused_by_name(rows, tmp_path, matrix):
    data = coded(Image.fromarray(picture(np.random.default_rng(7), 61, 19)), "AVIF", subsampling="4:4:4", quality=90)
    with pytest.raises(RowError, match="YCgCo" if matrix == 8 else "matrix") as e:
        read(rows, tmp_path / "a.avif", named_colours(data, 1, matrix), (19, 61))
    assert e.value.cause == "unsupported"


def named_colours(data, primaries, matrix):
    """The file with these code points in its only nclx box, and full range."""
    at = data.index(b"nclx") + 4
    return data[:at] + struct.pack(">HHHB", primaries, 13, matrix, 0x80) + data[at + 7:]


def test_grey_avif_equals_libavif(rows, tmp_path):
    im = Image.fromarray(picture(np.random.default_rng(3), 90, 71))
    data = coded(im, "AVIF", quality=90, subsampling="4:0:0")
    assert np.array_equal(read(rows, tmp_path / "a.avif", data, (71, 90)), pillow(data))


@pytest.mark.parametrize("size", [(161, 119), (160, 120), (161, 120), (160, 119)])
@pytest.mark.parametrize("subsampling", ["4:2:0", "4:2:2"])
def test_halved_chroma_is_upsampled_as_libavif_does(rows, tmp_path, size, subsampling):
    """Within 2, but for the last odd row and column, where libyuv repeats a sample and others weigh."""
    im = Image.fromarray(picture(np.random.default_rng(4), *size))
    data = coded(im, "AVIF", quality=90, subsampling=subsampling)
    d = difference(read(rows, tmp_path / "a.avif", data, im.size[::-1]), pillow(data))
    assert d[:-1, :-1].max() <= 2 and d.mean() < 0.3


def test_heic_with_halved_chroma_is_nearer_to_the_original_than_libheif(rows, tmp_path):
    """libheif repeats chroma samples; ours are weighed, so the reference is what was encoded."""
    pixels = picture(np.random.default_rng(5), 161, 119)
    for kw in (dict(), dict(full_range_flag=0)):
        data = coded(Image.fromarray(pixels), "HEIF", quality=90, chroma=420, **kw)
        ours = difference(read(rows, tmp_path / "a.heic", data, (119, 161)), pixels).mean()
        assert ours < difference(pillow(data), pixels).mean()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_avif_is_turned_when_asked_as_pillow_does(rows, tmp_path, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    im = Image.fromarray(picture(np.random.default_rng(6), 60, 40))
    data = coded(im, "AVIF", quality=90, subsampling="4:4:4", exif=exif)
    stored = Image.open(io.BytesIO(data))
    for orient, want in ((False, stored), (True, ImageOps.exif_transpose(stored))):
        want = np.asarray(want.convert("RGB"))
        assert difference(read(rows, tmp_path / "a.avif", data, want.shape[:2], Orient=orient), want).max() <= 2


# --- files put together here: grids, turned HEICs, crops, damage


def box(kind, *parts):
    data = b"".join(parts)
    return struct.pack(">I", 8 + len(data)) + kind + data


def full(kind, version, flags, *parts):
    return box(kind, struct.pack(">I", version << 24 | flags), *parts)


def walk(data, *path):
    """The payload of the first box on the path."""
    at = 0
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == path[0]:
            inner = data[at + 8:at + size]
            if len(path) == 1:
                return inner
            return walk(inner[4:] if kind == b"meta" else inner, *path[1:])
        at += size
    raise KeyError(path)


def tile(pixels):
    """A lossless HEIC of the pixels, sides of multiples of 64: its configuration and its coded bytes."""
    data = coded(Image.fromarray(pixels), "HEIF", quality=-1, chroma=444, matrix_coefficients=0)
    return walk(data, b"meta", b"iprp", b"ipco", b"hvcC"), walk(data, b"mdat")


def heic(tiles, columns, rows, width, height, *properties, essential=()):
    """A file whose primary picture is that grid of equal tiles, or the one tile; properties are of the primary picture."""
    config, _ = tile(tiles[0])
    th, tw = tiles[0].shape[:2]
    grid = len(tiles) > 1
    nclx = box(b"colr", b"nclx", struct.pack(">HHHB", 1, 13, 0, 0x80))
    ipco = [box(b"hvcC", config), full(b"ispe", 0, 0, struct.pack(">II", tw, th)), nclx,
            full(b"ispe", 0, 0, struct.pack(">II", width, height)), *properties]
    extra = [5 + i | (0x80 if i in essential else 0) for i in range(len(properties))]
    of_tile = [0x81, 2, 3] + ([] if grid else extra)
    items = [(i + 1, b"hvc1", of_tile, tile(t)[1]) for i, t in enumerate(tiles)]
    if grid:
        head = struct.pack(">BBBBHH", 0, 0, rows - 1, columns - 1, width, height)
        items.append((1000, b"grid", [4, 3] + extra, head))
    primary = items[-1][0] if grid else 1

    infe = [full(b"infe", 2, 0, struct.pack(">HH4sB", i, 0, kind, 0)) for i, kind, _, _ in items]
    ipma = b"".join(struct.pack(">HB", i, len(p)) + bytes(p) for i, _, p, _ in items)
    iref = full(b"iref", 0, 0, box(b"dimg", struct.pack(f">HH{len(tiles)}H", 1000, len(tiles), *range(1, len(tiles) + 1)))) if grid else b""
    idat = box(b"idat", items[-1][3]) if grid else b""

    def meta(first):
        places, at = b"", first
        for i, kind, _, data in items:
            method, where = (1, 0) if kind == b"grid" else (0, at)
            places += struct.pack(">HHHHII", i, method, 0, 1, where, len(data))
            at += 0 if kind == b"grid" else len(data)
        return full(b"meta", 0, 0,
                    full(b"hdlr", 0, 0, struct.pack(">I4s12sB", 0, b"pict", b"", 0)), full(b"pitm", 0, 0, struct.pack(">H", primary)),
                    full(b"iinf", 0, 0, struct.pack(">H", len(infe)), *infe), iref,
                    box(b"iprp", box(b"ipco", *ipco), full(b"ipma", 0, 0, struct.pack(">I", len(items)), ipma)), idat,
                    full(b"iloc", 1, 0, struct.pack(">BBH", 0x44, 0, len(items)), places))

    start = box(b"ftyp", b"heic", struct.pack(">I", 0), b"mif1heic")
    first = len(start) + len(meta(0)) + 8
    return start + meta(first) + box(b"mdat", *(data for _, kind, _, data in items if kind != b"grid"))


def cut(pixels, columns, rows):
    h, w = pixels.shape[0] // rows, pixels.shape[1] // columns
    return [np.ascontiguousarray(pixels[y * h:(y + 1) * h, x * w:(x + 1) * w]) for y in range(rows) for x in range(columns)]


def test_a_grid_of_tiles_is_one_picture(rows, tmp_path):
    """As phones write it: equal tiles, of which the last ones reach over the edge."""
    pixels = picture(np.random.default_rng(7), 192, 128)
    data = heic(cut(pixels, 3, 2), 3, 2, 170, 110)
    want = pixels[:110, :170]
    assert np.array_equal(pillow(data), want)
    assert np.array_equal(read(rows, tmp_path / "a.heic", data, want.shape[:2]), want)
    gray = np.asarray(Image.fromarray(want).convert("L"))
    assert np.array_equal(read(rows, tmp_path / "a.heic", data, want.shape[:2], Mode=1)[..., 0], gray)


@pytest.mark.parametrize("quarters", range(4))
@pytest.mark.parametrize("mirror", [None, 0, 1])
def test_heic_is_turned_always_as_libheif_does(rows, tmp_path, quarters, mirror):
    pixels = picture(np.random.default_rng(8), 128, 64)
    properties = [box(b"irot", bytes([quarters]))] + ([] if mirror is None else [box(b"imir", bytes([mirror]))])
    data = heic([pixels], 1, 1, 128, 64, *properties, essential=range(len(properties)))
    want = np.rot90(pixels, quarters)
    if mirror is not None:
        want = np.flip(want, mirror)
    assert np.array_equal(pillow(data), want)
    for orient in (False, True):
        assert np.array_equal(read(rows, tmp_path / "a.heic", data, want.shape[:2], Orient=orient), want)


def clap(w, h, dx, dy, dx_d=1, dy_d=1):
    return box(b"clap", struct.pack(">IIIIiIiI", w, 1, h, 1, dx, dx_d, dy, dy_d))


def test_a_clean_aperture_is_cropped_before_the_turn(rows, tmp_path):
    pixels = picture(np.random.default_rng(9), 128, 64)
    data = heic([pixels], 1, 1, 128, 64, clap(40, 30, -5, 3), box(b"irot", b"\1"), essential=(0, 1))
    want = np.rot90(pixels[17 + 3:17 + 3 + 30, 44 - 5:44 - 5 + 40])
    assert np.array_equal(pillow(data), want)
    assert np.array_equal(read(rows, tmp_path / "a.heic", data, want.shape[:2]), want)


@pytest.mark.parametrize("properties,words", [
    ([clap(40, 30, 1, 0, 3)], "whole pixels"),
    ([clap(130, 30, 0, 0)], "whole pixels"),
    ([box(b"zzzz", b"1")], 'without its property "zzzz"'),
])
def test_what_cannot_be_shown_is_named(rows, tmp_path, properties, words):
    pixels = picture(np.random.default_rng(10), 128, 64)
    with pytest.raises(RowError, match=words) as e:
        read(rows, tmp_path / "a.heic", heic([pixels], 1, 1, 128, 64, *properties, essential=(0,)), (20, 20))
    assert e.value.cause == "unsupported"


def test_a_picture_of_too_many_pixels_is_refused_before_memory_is_taken(rows, tmp_path):
    data = heic([picture(np.random.default_rng(11), 128, 64)], 1, 1, 128, 64)
    huge = data.replace(struct.pack(">II", 128, 64), struct.pack(">II", 60000, 60000))
    with pytest.raises(RowError) as e:
        read(rows, tmp_path / "a.heic", huge, (20, 20))
    assert e.value.cause == "too_many_pixels"


def test_a_grid_that_its_tiles_do_not_cover_is_damage(rows, tmp_path):
    tiles = cut(picture(np.random.default_rng(12), 128, 64), 2, 1)
    with pytest.raises(RowError, match="do not cover") as e:
        read(rows, tmp_path / "a.heic", heic(tiles, 2, 1, 129, 64), (20, 20))
    assert e.value.cause == "corrupt"


def samples():
    rng = np.random.default_rng(13)
    im = Image.fromarray(picture(rng, 64, 48))
    return {"avif": coded(im, "AVIF", quality=80), "heic": coded(im, "HEIF", quality=80),
            "grid": heic(cut(picture(rng, 128, 64), 2, 1), 2, 1, 120, 60)}


@pytest.mark.parametrize("kind", ["avif", "heic", "grid"])
def test_every_truncation_is_a_named_failure(rows, tmp_path, kind):
    data = samples()[kind]
    for n in range(40, len(data) - 1, 13):
        with pytest.raises(RowError) as e:
            read(rows, tmp_path / "a.img", data[:n], (20, 20))
        assert e.value.cause == "truncated", n


@pytest.mark.parametrize("kind", ["avif", "heic", "grid"])
def test_damage_never_crashes_and_later_pictures_are_whole(rows, tmp_path, kind):
    good, path = samples()[kind], tmp_path / "a.img"
    want = read(rows, path, good, (20, 20))
    rng = np.random.default_rng(14)
    for _ in range(80):
        bad = bytearray(good)
        for at in rng.integers(0, min(len(bad), 900), 4):
            bad[at] = int(rng.integers(256))
        try:
            read(rows, path, bytes(bad), (20, 20), portable_too=False)
        except RowError as e:
            assert e.cause in ("corrupt", "truncated", "unsupported", "not_an_image", "too_many_pixels", "no_memory")
        assert np.array_equal(read(rows, path, good, (20, 20)), want)


def test_a_build_without_ffmpeg_names_the_full_build(rows_without_ffmpeg, tmp_path):
    with pytest.raises(RowError, match="full build") as e:
        read(rows_without_ffmpeg, tmp_path / "a.avif", samples()["avif"], (20, 20))
    assert e.value.cause == "unsupported"
