"""JPEG rows against Pillow 11.1 (libjpeg-turbo): the same bytes, for every way to ask."""

import math

import numpy as np
import pytest
from PIL import Image, ImageOps

from conftest import picture
from tools import RowError

BILINEAR, BICUBIC, NEAREST = 0, 1, 2
FILTERS = {BILINEAR: Image.BILINEAR, BICUBIC: Image.BICUBIC, NEAREST: Image.NEAREST}
SUBSAMPLINGS = ["4:4:4", "4:2:2", "4:2:0"]
RGB, GRAY, LUMA = 0, 1, 2
U8, F16, BF16, F32 = 0, 1, 2, 3
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def random_jpeg(rng, path, w=None, h=None, **kw):
    w, h = w or int(rng.integers(1, 700)), h or int(rng.integers(1, 700))
    kw.setdefault("subsampling", str(rng.choice(SUBSAMPLINGS)))
    kw.setdefault("quality", int(rng.integers(30, 100)))
    kw.setdefault("progressive", bool(rng.random() < 0.2))
    if rng.random() < 0.2:
        kw.setdefault("restart_marker_blocks", int(rng.integers(1, 9)))
    Image.fromarray(picture(rng, w, h)).save(path, "JPEG", **kw)
    return Image.open(path)


def centre_crop(im, ch, cw):
    """torchvision's CenterCrop on a PIL image: zeros around what is smaller, half to even."""
    w, h = im.size
    if cw > w or ch > h:
        canvas = Image.new(im.mode, (max(cw, w), max(ch, h)))
        canvas.paste(im, ((cw - w) // 2 if cw > w else 0, (ch - h) // 2 if ch > h else 0))
        im, (w, h) = canvas, canvas.size
    top, left = int(round((h - ch) / 2.0)), int(round((w - cw) / 2.0))
    return im.crop((left, top, left + cw, top + ch))


def resize_short(im, size, resample):
    """torchvision's Resize(int) on a PIL image."""
    w, h = im.size
    short, long = (w, h) if w <= h else (h, w)
    new_long = int(size * long / short)
    new = (size, new_long) if w <= h else (new_long, size)
    return im if new == (w, h) else im.resize(new, resample)


def test_resize_and_centre_crop_equal_pillow(rows, tmp_path):
    rng = np.random.default_rng(1)
    for i in range(150):
        im = random_jpeg(rng, tmp_path / "a.jpg").convert("RGB")
        if max(im.size) / min(im.size) > 20:
            continue
        size, out = int(rng.integers(1, 300)), [int(v) for v in rng.integers(1, 260, 2)]
        f = int(rng.integers(3))
        want = centre_crop(resize_short(im, size, FILTERS[f]), *out)
        got = rows.row(tmp_path / "a.jpg", ResizeShort=size, Out=out, Interpolation=f)
        assert np.array_equal(got, np.asarray(want)), (i, im.size, size, out, f)


def test_resize_to_a_size_equals_pillow_in_both_layouts(rows, tmp_path):
    rng = np.random.default_rng(2)
    for i in range(100):
        im = random_jpeg(rng, tmp_path / "a.jpg").convert("RGB")
        h, w = (int(v) for v in rng.integers(1, 400, 2))
        if i % 10 == 0:
            w, h = im.size
        f = int(rng.integers(3))
        want = np.asarray(im.resize((w, h), FILTERS[f]))
        got = rows.row(tmp_path / "a.jpg", Resize=(h, w), Interpolation=f, Layout=i % 2)
        assert np.array_equal(got, want.transpose(2, 0, 1) if i % 2 else want), (i, im.size, (w, h), f)


def test_random_crops_with_padding_are_parts_of_the_padded_picture(rows, tmp_path):
    """torchvision's RandomCrop: where it lies is ours, what it is Pillow's; all zeros where it misses the picture."""
    rng = np.random.default_rng(27)
    for i in range(60):
        im = random_jpeg(rng, tmp_path / "a.jpg", int(rng.integers(1, 40)), int(rng.integers(1, 40))).convert("RGB")
        pad, f, resize = int(rng.integers(0, 60)), int(rng.integers(3)), None
        if i % 2:
            resize = (int(rng.integers(1, 40)), int(rng.integers(1, 40)))
            im = im.resize(resize[::-1], FILTERS[f])
        padded = np.pad(np.asarray(im), ((pad, pad), (pad, pad), (0, 0)))
        out = tuple(int(rng.integers(1, n + 1)) for n in padded.shape[:2])
        for index in range(4):
            got = rows.row(tmp_path / "a.jpg", Resize=resize, Out=out, Interpolation=f, Anywhere=True, Pad=pad, Flip=index % 2,
                           draw=dict(Seed=i, Index=index))
            got = got[:, ::-1] if index % 2 else got
            places = np.lib.stride_tricks.sliding_window_view(padded, (*out, 3))[:, :, 0]
            assert any(np.array_equal(place, got) for line in places for place in line), (i, im.size, out, pad)


def test_cropped_decode_equals_decode_then_crop_for_random_boxes(rows, tmp_path):
    rng = np.random.default_rng(3)
    for i in range(60):
        im = random_jpeg(rng, tmp_path / "a.jpg").convert("RGB")
        w, h = im.size
        for _ in range(10):
            bw, bh = int(rng.integers(1, w + 1)), int(rng.integers(1, h + 1))
            x, y = int(rng.integers(0, w - bw + 1)), int(rng.integers(0, h - bh + 1))
            flip, f = bool(rng.integers(2)), int(rng.integers(3))
            out = (bh, bw) if rng.random() < 0.3 else tuple(int(v) for v in rng.integers(1, 256, 2))
            want = im.crop((x, y, x + bw, y + bh)).resize(out[::-1], FILTERS[f])
            want = want.transpose(Image.FLIP_LEFT_RIGHT) if flip else want
            draw = dict(Replay=True, Flip=flip, Box=dict(Y=y, X=x, H=bh, W=bw))
            got = rows.row(tmp_path / "a.jpg", Random={}, Out=out, Interpolation=f, draw=draw)
            assert np.array_equal(got, np.asarray(want)), (i, im.size, (x, y, bw, bh), out, flip, f)


def without_refinement(data):
    """A progressive file without the scans that send the last bits of its coefficients: libjpeg smooths its blocks."""
    out, at = data[:2], 2
    while data[at + 1] != 0xD9:
        end = at + 2 + int.from_bytes(data[at + 2:at + 4], "big")
        kept = True
        if data[at + 1] == 0xDA:
            kept = data[end - 1] >> 4 == 0
            while data[end] != 0xFF or data[end + 1] == 0:
                end += 1
        out, at = out + (data[at:end] if kept else b""), end
    return out + data[at:]


@pytest.mark.parametrize("subsampling", SUBSAMPLINGS)
def test_crops_of_smoothed_jpegs_equal_decode_then_crop(rows, tmp_path, subsampling):
    rng = np.random.default_rng(21)
    path = tmp_path / "a.jpg"
    random_jpeg(rng, path, 400, 300, progressive=True, subsampling=subsampling, quality=60, restart_marker_blocks=0)
    path.write_bytes(without_refinement(path.read_bytes()))
    whole = rows.row(path, Resize=(300, 400))
    if subsampling != "4:2:0":  # there libjpeg-turbo 2.1 and the one in Pillow's wheel smooth differently, by up to 4
        assert np.array_equal(whole, np.asarray(Image.open(path).convert("RGB")))
    for _ in range(40):
        x, y = int(rng.integers(0, 390)), int(rng.integers(0, 290))
        bw, bh = int(rng.integers(1, 401 - x)), int(rng.integers(1, 301 - y))
        got = rows.row(path, Random={}, Out=(bh, bw), draw=dict(Replay=True, Box=dict(Y=y, X=x, H=bh, W=bw)))
        assert np.array_equal(got, whole[y:y + bh, x:x + bw]), (x, y, bw, bh)


def test_random_jpegs_of_rare_subsampling_equal_pillow(rows, tmp_path):
    """4:4:0, 4:1:1, 4:1:0 and luma finer than both: written by cjpeg's rules through Pillow's tables."""
    rng = np.random.default_rng(4)
    for i, factors in enumerate([(1, 2), (4, 1), (4, 2), (2, 2), (2, 1), (1, 1), (1, 4)]):
        path = tmp_path / "a.jpg"
        path.write_bytes(with_sampling(rng, *factors))
        im = Image.open(path).convert("RGB")
        w, h = im.size
        for _ in range(12):
            bw, bh = int(rng.integers(1, w + 1)), int(rng.integers(1, h + 1))
            x, y = int(rng.integers(0, w - bw + 1)), int(rng.integers(0, h - bh + 1))
            want = im.crop((x, y, x + bw, y + bh))
            draw = dict(Replay=True, Box=dict(Y=y, X=x, H=bh, W=bw))
            got = rows.row(path, Random={}, Out=(bh, bw), draw=draw)
            assert np.array_equal(got, np.asarray(want)), (factors, (x, y, bw, bh))


def with_sampling(rng, hs, vs):
    """A JPEG whose luma has hs x vs blocks per chroma block: a 4:4:4 file of such a number of
    MCUs with its header rewritten (the blocks mean other places; any picture will do)."""
    import io
    # Pillow writes one luma, one cb, one cr block per MCU at 4:4:4. Coding all three planes as equal
    # streams of blocks, an MCU of hs*vs luma blocks needs hs*vs + 2 blocks of the matching tables, so
    # instead the entropy data are made here from DC-only blocks.
    mcux, mcuy = 9, 7
    w, h = mcux * 8 * hs - 3, mcuy * 8 * vs - 5
    b = io.BytesIO()
    Image.new("RGB", (16, 16)).save(b, "JPEG", quality=80, subsampling="4:4:4")
    d = b.getvalue()
    sof = d.index(b"\xff\xc0")
    sos = d.index(b"\xff\xda")
    head = bytearray(d[:sos + 2 + int.from_bytes(d[sos + 2:sos + 4], "big")])
    head[sof + 5:sof + 9] = h.to_bytes(2, "big") + w.to_bytes(2, "big")
    head[sof + 11] = hs << 4 | vs
    return bytes(head) + dc_stream(rng, mcux * mcuy, hs * vs) + b"\xff\xd9"


# Annex K tables, which Pillow writes: DC categories 0-8 for luma and chroma, and the end-of-block codes.
DC_LUMA = ["00", "010", "011", "100", "101", "110", "1110", "11110", "111110"]
DC_CHROMA = ["00", "01", "10", "110", "1110", "11110", "111110", "1111110", "11111110"]
EOB = ("1010", "00")


def dc_stream(rng, mcus, luma_blocks):
    bits, last = [], [0, 0, 0]
    for _ in range(mcus):
        for c in [0] * luma_blocks + [1, 2]:
            value = int(rng.integers(-60, 61))
            diff, last[c] = value - last[c], value
            n = abs(diff).bit_length()
            bits.append((DC_CHROMA if c else DC_LUMA)[n])
            if n:
                bits.append(format(diff if diff > 0 else diff + (1 << n) - 1, f"0{n}b"))
            bits.append(EOB[c > 0])
    s = "".join(bits)
    s += "1" * (-len(s) % 8)
    return int(s, 2).to_bytes(len(s) // 8, "big").replace(b"\xff", b"\xff\x00")


def test_grey_files_are_replicated_and_colour_files_made_grey_as_pillow_does(rows, tmp_path):
    rng = np.random.default_rng(5)
    for i in range(30):
        a, b = tmp_path / "a.jpg", tmp_path / "b.jpg"
        im = random_jpeg(rng, a)
        Image.fromarray(picture(rng, *im.size, 1)).save(b, "JPEG", quality=85)
        for path in (a, b):
            im = Image.open(path)
            size = tuple(int(v) for v in rng.integers(1, 300, 2))
            want = im.convert("RGB").convert("L").resize(size[::-1], Image.BILINEAR)
            got = rows.row(path, Resize=size, Mode=GRAY, Layout=i % 2)
            assert np.array_equal(got.reshape(size), np.asarray(want))
        im = Image.open(b)
        want = im.convert("RGB").resize((50, 40), Image.BICUBIC)
        assert np.array_equal(rows.row(b, Resize=(40, 50), Interpolation=BICUBIC), np.asarray(want))
        im = Image.open(a)
        im.draft("L", im.size)
        want = im.resize((50, 40), Image.BILINEAR)
        assert np.array_equal(rows.row(a, Resize=(40, 50), Mode=LUMA).reshape(40, 50), np.asarray(want))


def test_cmyk_and_ycck_files_equal_pillow_with_and_without_adobe_marker(rows, tmp_path):
    rng = np.random.default_rng(6)
    path = tmp_path / "a.jpg"
    for i in range(10):
        w, h = (int(v) for v in rng.integers(20, 300, 2))
        Image.fromarray(picture(rng, w, h, 4), "CMYK").save(path, "JPEG", quality=90)
        data = path.read_bytes()
        adobe = data.index(b"Adobe")
        variants = [data, data[:adobe - 4] + data[adobe + 12:]]
        variants.append(data[:adobe + 11] + b"\x02" + data[adobe + 12:])  # transform 2: YCCK
        for v in variants:
            path.write_bytes(v)
            im = Image.open(path)
            assert im.mode == "CMYK"
            for mode, name in ((RGB, "RGB"), (GRAY, "L")):
                want = np.asarray(im.convert("RGB").convert(name).resize((64, 48), Image.BILINEAR))
                got = rows.row(path, Resize=(48, 64), Mode=mode)
                assert np.array_equal(got.reshape(want.shape), want)


def test_rgb_files_with_adobe_transform_0_equal_pillow(rows, tmp_path):
    rng = np.random.default_rng(7)
    path = tmp_path / "a.jpg"
    Image.fromarray(picture(rng, 120, 90)).save(path, "JPEG", quality=92, keep_rgb=True)
    im = Image.open(path)
    assert np.array_equal(rows.row(path, Resize=(90, 120)), np.asarray(im))
    want = np.asarray(im.convert("L").resize((64, 48), Image.BILINEAR))
    for mode in (GRAY, LUMA):
        assert np.array_equal(rows.row(path, Resize=(48, 64), Mode=mode).reshape(48, 64), want)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_equals_transposing_first(rows, tmp_path, orientation):
    rng = np.random.default_rng(orientation)
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / "a.jpg"
    for i in range(12):
        im = random_jpeg(rng, path, *(int(v) for v in rng.integers(20, 400, 2)), exif=exif)
        plain, turned = im.convert("RGB"), ImageOps.exif_transpose(im).convert("RGB")
        for orient, base in ((False, plain), (True, turned)):
            want = centre_crop(resize_short(base, 96, Image.BILINEAR), 80, 80)
            got = rows.row(path, ResizeShort=96, Out=(80, 80), Orient=orient)
            assert np.array_equal(got, np.asarray(want)), (i, orient)
        assert rows.info["orientation"] == orientation
        w, h = turned.size
        x, y = int(rng.integers(0, w // 2)), int(rng.integers(0, h // 2))
        bw, bh = int(rng.integers(1, w - x + 1)), int(rng.integers(1, h - y + 1))
        want = turned.crop((x, y, x + bw, y + bh)).resize((40, 50), Image.BICUBIC).transpose(Image.FLIP_LEFT_RIGHT)
        draw = dict(Replay=True, Flip=True, Box=dict(Y=y, X=x, H=bh, W=bw))
        got = rows.row(path, Random={}, Out=(50, 40), Interpolation=BICUBIC, Orient=True, draw=draw)
        assert np.array_equal(got, np.asarray(want)), i


def to_bf16(x):
    """float32 to bfloat16 bits, nearest even."""
    b = np.ascontiguousarray(x).view(np.uint32).astype(np.uint64)
    return ((b + 0x7FFF + ((b >> 16) & 1)) >> 16).astype(np.uint16)


@pytest.mark.parametrize("mean,std", [(MEAN, STD), ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), (None, None),
                                      ((0.1, -0.2, 0.3), (0.017, 3.3, 77.7))])
def test_normalised_rows_equal_float32_arithmetic_in_every_type(rows, tmp_path, mean, std):
    """torchvision's ToTensor and Normalize: x/255, minus mean, by std, each rounded to float32."""
    rng = np.random.default_rng(8)
    path = tmp_path / "a.jpg"
    for w, h in ((97, 61), (5, 3), (224, 20)):
        im = random_jpeg(rng, path).convert("RGB").resize((w, h), Image.BILINEAR)
        x = np.asarray(im).astype(np.float32) / np.float32(255)
        norm = None
        if mean:
            x = (x - np.float32(mean)) / np.float32(std)
            norm = dict(Mean=mean, Std=std)
        for layout in (0, 1):
            want = x.transpose(2, 0, 1) if layout else x
            for dtype, cast in ((F32, lambda v: v), (F16, lambda v: v.astype(np.float16)), (BF16, to_bf16)):
                got = rows.row(path, Resize=(h, w), DType=dtype, Layout=layout, Normalize=norm)
                assert got.tobytes() == np.ascontiguousarray(cast(want)).tobytes(), (w, h, layout, dtype)


def philox(key, counter):
    """Philox4x32-10, written from the paper."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def uniforms(seed, epoch, index, op, block):
    c = philox((seed & 0xFFFFFFFF, seed >> 32), (index & 0xFFFFFFFF, index >> 32, epoch & 0xFFFFFFFF, op << 24 | block))
    return tuple(((c[i] >> 5) * 67108864 + (c[i + 1] >> 6)) / 9007199254740992 for i in (0, 2))


def random_resized_crop(w, h, scale, ratio, seed, epoch, index):
    """torchvision's RandomResizedCrop.get_params, its draws replaced by ours; tries used."""
    area, log_ratio = w * h, (math.log(ratio[0]), math.log(ratio[1]))
    for t in range(10):
        u = uniforms(seed, epoch, index, 1, 2 * t)
        target = area * (scale[0] + u[0] * (scale[1] - scale[0]))
        aspect = math.exp(log_ratio[0] + u[1] * (log_ratio[1] - log_ratio[0]))
        cw, ch = int(round(math.sqrt(target * aspect))), int(round(math.sqrt(target / aspect)))
        if 0 < cw <= w and 0 < ch <= h:
            u = uniforms(seed, epoch, index, 1, 2 * t + 1)
            return (int(u[0] * (h - ch + 1)), int(u[1] * (w - cw + 1)), ch, cw), t
    in_ratio = w / h
    cw, ch = w, h
    if in_ratio < min(ratio):
        ch = int(round(cw / min(ratio)))
    elif in_ratio > max(ratio):
        cw = int(round(ch * max(ratio)))
    return ((h - ch) // 2, (w - cw) // 2, ch, cw), 10


def test_philox_matches_the_published_vectors():
    assert philox((0, 0), (0, 0, 0, 0)) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    ones = 0xFFFFFFFF
    assert philox((ones, ones), (ones,) * 4) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


def test_random_crops_and_flips_follow_torchvisions_rule_on_our_draws(rows, tmp_path):
    rng = np.random.default_rng(9)
    path, tries, flips = tmp_path / "a.jpg", [0] * 11, 0
    for i in range(300):
        if i % 30 == 0:
            w, h = [(500, 375), (375, 500), (900, 60), (33, 700), (1, 1), (64, 64), (2, 90)][i // 30 % 7]
            im = random_jpeg(rng, path, w, h).convert("RGB")
        scale, ratio = ((0.08, 1.0), (3 / 4, 4 / 3)) if i % 3 else ((0.5, 0.9), (0.3, 2.5))
        seed, epoch, index = (int(v) for v in rng.integers(0, 2**63, 3))
        (y, x, ch, cw), t = random_resized_crop(w, h, scale, ratio, seed, epoch, index)
        tries[t] += 1
        flip = uniforms(seed, epoch, index, 2, 0)[0] < 0.5
        flips += flip
        got = rows.row(path, Random=dict(Scale=scale, Ratio=ratio), Out=(48, 56), Flip=0.5,
                       draw=dict(Seed=seed, Epoch=epoch, Index=index))
        assert rows.info["box"] == dict(y=y, x=x, h=ch, w=cw) and rows.info["flip"] == flip
        want = im.crop((x, y, x + cw, y + ch)).resize((56, 48), Image.BILINEAR)
        want = want.transpose(Image.FLIP_LEFT_RIGHT) if flip else want
        assert np.array_equal(got, np.asarray(want))
    assert tries[0] and tries[10] and 100 < flips < 200


def test_every_truncation_of_a_jpeg_is_a_named_failure(rows, tmp_path):
    rng = np.random.default_rng(10)
    path = tmp_path / "a.jpg"
    for progressive in (False, True):
        random_jpeg(rng, path, 90, 70, progressive=progressive, restart_marker_blocks=0)
        data = path.read_bytes()
        for n in range(3, len(data), 7):
            path.write_bytes(data[:n])
            with pytest.raises(RowError) as e:
                rows.row(path, Resize=(20, 20))
            assert e.value.cause == "truncated", n


def test_bytes_after_the_end_do_not_matter(rows, tmp_path):
    rng = np.random.default_rng(11)
    path = tmp_path / "a.jpg"
    want = np.asarray(random_jpeg(rng, path, 90, 70))
    path.write_bytes(path.read_bytes() + bytes(1000))
    assert np.array_equal(rows.row(path, Resize=want.shape[:2]), want)
