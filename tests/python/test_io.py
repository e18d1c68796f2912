"""spdl.io: one file or one piece of memory, decoded in this process."""

import copy
import functools
import gc
import http.server
import io
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import threading
import wave
import zipfile

import numpy as np
import pytest
from PIL import Image, ImageOps

import spdl
import spdl.io

RATE = 8000


def wav_bytes(samples, rate=RATE):
    """A WAV of int16 [length, channels]."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.tobytes())
    return out.getvalue()


def y4m(levels):
    frames = b"".join(b"FRAME\n" + bytes([level]) * 256 + bytes([128]) * 128 for level in levels)
    return b"YUV4MPEG2 W16 H16 F10:1 Ip A1:1 C420jpeg XCOLORRANGE=FULL\n" + frames


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.fixture(scope="module")
def noise():
    return np.random.default_rng(1).integers(-32768, 32768, (1000, 2), dtype=np.int16)


@pytest.fixture(scope="module", autouse=True)
def engine(tmp_path_factory):
    """What Go opens once for the whole process is there before a test counts descriptors."""
    path = tmp_path_factory.mktemp("warm") / "a.wav"
    path.write_bytes(wav_bytes(np.zeros((8, 1), np.int16)))
    spdl.io.load_audio(path)


def test_load_audio_gives_the_samples(noise, tmp_path):
    path = tmp_path / "a.wav"
    path.write_bytes(wav_bytes(noise))
    want = noise.T.astype(np.float32) / 32768
    for src in (path, str(path), path.read_bytes(), bytearray(path.read_bytes()), memoryview(path.read_bytes()), np.frombuffer(path.read_bytes(), "u1")):
        np.testing.assert_array_equal(spdl.io.load_audio(src).numpy(), want)
    np.testing.assert_array_equal(spdl.io.load_audio(path, timestamp=(0.01, 0.02)).numpy(), want[:, 80:160])
    np.testing.assert_array_equal(spdl.io.load_audio(path, timestamp=(0.1, None)).numpy(), want[:, 800:])
    np.testing.assert_array_equal(spdl.io.load_audio(path, timestamp=(0.1, np.inf)).numpy(), want[:, 800:])
    for wrong in ((None, 1), (0.5,), 3, ("x", 1), (np.inf, None), (np.nan, 1)):
        with pytest.raises(spdl.ArgumentError, match="timestamp: got .*want .start, end."):
            spdl.io.load_audio(path, timestamp=wrong)
    with pytest.raises(spdl.SampleError, match="holds none"):
        spdl.io.load_audio(path, timestamp=(0, 1e-5))
    np.testing.assert_allclose(spdl.io.load_audio(path, num_channels=1).numpy()[0], want.mean(axis=0), atol=1e-7)
    assert spdl.io.load_audio(path, sample_rate=16000).shape == (2, 2000)
    assert spdl.io.load_audio(path, dtype="i16", layout="NLC").numpy().tolist() == noise.tolist()
    assert spdl.io.load_audio(path, sample_rate=RATE, num_channels=1, features={"kind": "mel", "n_fft": 64, "n_mels": 8}).shape == (8, 32)
    info = spdl.io.probe_audio(path)
    assert (info["rate"], info["channels"], info["frames"], info["start"]) == (RATE, 2, 1000, 0)


def test_an_address_stands_for_what_lies_there(tmp_path):
    """http, https and s3, as in rings; here a server of Python's."""
    (tmp_path / "a.wav").write_bytes(wav_bytes(np.arange(2000, dtype=np.int16).reshape(1000, 2)))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *a: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            got = spdl.io.load_audio(f"{url}/a.wav").numpy()
            assert np.array_equal(got, spdl.io.load_audio(tmp_path / "a.wav").numpy())
            with pytest.raises(spdl.SampleError, match="404"):
                spdl.io.load_image(f"{url}/none.png")
        finally:
            server.shutdown()


def test_an_address_of_a_file_is_its_path(noise, tmp_path):
    """As in lists: file:///PATH, with its escapes."""
    path = tmp_path / "a b%.wav"
    path.write_bytes(wav_bytes(noise))
    address = path.as_uri()
    assert "%20" in address and address.startswith("file:///")
    want = spdl.io.load_wav(path).numpy()
    for src in (address, address.replace("file://", "FILE://localhost")):
        np.testing.assert_array_equal(spdl.io.load_wav(src).numpy(), want)
        assert len(spdl.io.demux_image(src)) == 1


def test_load_video_gives_the_frames():
    data = y4m([20, 40, 60, 80, 100])
    try:
        frames = spdl.io.load_video(data).numpy()
    except spdl.SampleError as error:
        if "no FFmpeg" in str(error):
            pytest.skip(str(error))
        raise
    assert frames.shape == (5, 16, 16, 3) and frames.dtype == np.uint8
    assert np.abs(frames[:, 0, 0, 0].astype(int) - [20, 40, 60, 80, 100]).max() <= 1
    picked = spdl.io.sample_decode_video(data, [4, 0, -1], layout="NTCHW", transform=[{"resize": [8, 8]}]).numpy()
    assert picked.shape == (3, 3, 8, 8) and np.abs(picked[:, 0, 0, 0].astype(int) - [100, 20, 100]).max() <= 1
    part = spdl.io.load(data, {"video": {"window": {"start": "100ms", "duration": "200ms"}}})
    np.testing.assert_allclose(part["pts"].numpy(), [0.1, 0.2])
    assert spdl.io.load_video(data, timestamp=(0.1, 0.3)).shape[0] == 2
    assert spdl.io.probe_video(data)["width"] == 16


def test_filters_are_ffmpegs(noise, tmp_path):
    """filter_desc says what comes out, how much of it, and when; what cannot be is the description's fault."""
    data, path = y4m([20, 40, 60, 80, 100]), tmp_path / "a.wav"
    path.write_bytes(wav_bytes(noise))
    try:
        frames = spdl.io.load_video(data, filter_desc="select=not(mod(n\\,2)),crop=8:4").numpy()
    except spdl.SampleError as error:
        if "no FFmpeg" in str(error):
            pytest.skip(str(error))
        raise
    assert frames.shape == (3, 4, 8, 3)
    assert np.abs(frames[:, 0, 0, 0].astype(int) - [20, 60, 100]).max() <= 1
    picked = spdl.io.sample_decode_video(data, [4, 0, -1], filter_desc="hflip", transform=[{"resize": [8, 8]}]).numpy()
    assert picked.shape == (3, 8, 8, 3) and np.abs(picked[:, 0, 0, 0].astype(int) - [100, 20, 100]).max() <= 1
    twice = spdl.io.load(data, {"video": {"filter": "fps=20"}})
    np.testing.assert_allclose(twice["pts"].numpy(), np.arange(10) / 20)
    np.testing.assert_allclose(twice["duration"].numpy(), 1 / 20)
    chunks = list(spdl.io.streaming_load_video(data, 4, filter_desc="fps=20"))
    assert [chunk["video"].shape[0] for chunk in chunks] == [4, 4, 2]
    with pytest.raises(spdl.SampleError, match="raise video.frames"):
        spdl.io.load_video(data, filter_desc="fps=20", frames=9)
    sound = spdl.io.load_audio(path, timestamp=(0.01, 0.02), filter_desc="pan=mono|c0=c1").numpy()
    np.testing.assert_array_equal(sound, noise.T[1:, 80:160].astype(np.float32) / 32768)
    for wrong, text in ("movie=/etc/passwd", 'video.filter: got "movie=/etc/passwd": got filter "movie"'), ("crop=x", "video.filter"):
        with pytest.raises(spdl.SpecError, match=text):
            spdl.io.load_video(data, filter_desc=wrong)
    with pytest.raises(spdl.SpecError, match="audio.filter: .*never ends"):
        spdl.io.load_audio(path, filter_desc="apad")


def test_an_index_is_kept(tmp_path):
    path, kept = tmp_path / "a.y4m", tmp_path / "indices"
    path.write_bytes(y4m(range(20, 90, 10)))
    try:
        want = spdl.io.load_video(path, index_dir=kept).numpy()
    except spdl.SampleError as error:
        if "no FFmpeg" in str(error):
            pytest.skip(str(error))
        raise
    (index,) = kept.iterdir()
    made = index.stat()
    np.testing.assert_array_equal(spdl.io.load_video(path, index_dir=str(kept)).numpy(), want)
    np.testing.assert_array_equal(spdl.io.sample_decode_video(path, [4, 1], index_dir=kept).numpy(), want[[4, 1]])
    chunks = spdl.io.streaming_load_video(path, 3, index_dir=kept)
    np.testing.assert_array_equal(np.concatenate([chunk["video"].numpy() for chunk in chunks]), want)
    assert [(i.stat().st_ino, i.stat().st_mtime_ns) for i in kept.iterdir()] == [(made.st_ino, made.st_mtime_ns)]
    spdl.io.load_video(path, index_dir="beside")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.y4m", "a.y4m.spdlvidx", "indices"]
    with pytest.raises(spdl.SpecError, match="got beside, and the video is in memory or at an address; want a directory"):
        spdl.io.load_video(path.read_bytes(), index_dir="beside")


def test_streaming_load_video_gives_chunks(tmp_path):
    path = tmp_path / "a.y4m"
    path.write_bytes(y4m(range(20, 90, 10)))
    try:
        chunks = list(spdl.io.streaming_load_video(path, 3, transform=[{"resize": [4, 4]}]))
    except spdl.SampleError as error:
        if "no FFmpeg" in str(error):
            pytest.skip(str(error))
        raise
    assert [chunk["video"].shape[0] for chunk in chunks] == [3, 3, 1]
    levels = np.concatenate([chunk["video"].numpy()[:, 0, 0, 0] for chunk in chunks]).astype(int)
    assert np.abs(levels - np.arange(20, 90, 10)).max() <= 1
    np.testing.assert_allclose(np.concatenate([chunk["pts"].numpy() for chunk in chunks]), np.arange(7) / 10, atol=1e-9)
    for chunk in spdl.io.streaming_load_video(path.read_bytes(), 2):
        assert chunk["video"].shape == (2, 16, 16, 3)
        break  # and what was open is closed
    with pytest.raises(spdl.SpecError, match="video.frames"):
        spdl.io.streaming_load_video(path, 0)


def test_load_image_gives_the_picture(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(2).integers(0, 256, (12, 20, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png").numpy(), pixels)
    assert spdl.io.load_image(tmp_path / "a.png", transform=[{"resize": 6}], layout="NCHW", mode="gray").shape == (1, 6, 10)
    np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png", filter_desc=None, device_config=None).numpy(), pixels)


def test_load_image_gives_the_tiles(tmp_path):
    pixels = np.random.default_rng(2).integers(0, 256, (30, 61, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    loaded = spdl.io.load(tmp_path / "a.png", {"image": {"tiles": {"size": 16, "max": 4}}})
    assert loaded.info["grid"] == {"rows": 1, "columns": 2}
    made = Image.fromarray(pixels)
    wide = np.asarray(made.resize((32, 16), Image.BICUBIC))
    np.testing.assert_array_equal(loaded["image"].numpy(), [wide[:, :16], wide[:, 16:], np.asarray(made.resize((16, 16), Image.BICUBIC))])
    one = spdl.io.load_image(tmp_path / "a.png", tiles={"kind": "idefics3", "size": 16, "longest_edge": 32}, layout="NCHW", dtype="f32", transform=[{"normalize": "imagenet"}])
    assert one.shape == (3, 3, 16, 16) and one.numpy().dtype == np.float32
    with pytest.raises(spdl.SpecError, match="image.tiles.size: got 0"):
        spdl.io.load_image(tmp_path / "a.png", tiles={"size": 0})


def test_a_picture_is_resized_as_by_opencv(tmp_path):
    """By halves, thirds and nearest pixels, whose rules are short; and in YOLO's letterbox, where 5 columns of fill are 2 and 3."""
    pixels = np.random.default_rng(2).integers(0, 256, (12, 20, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")

    def made(size, interpolation, **more):
        return spdl.io.load_image(tmp_path / "a.png", transform=[{"resize": {"size": size, "interpolation": f"cv2_{interpolation}", **more}}]).numpy()

    blocks = pixels.astype(int).reshape(6, 2, 10, 2, 3).sum((1, 3))
    for f in "linear", "area":
        np.testing.assert_array_equal(made([6, 10], f), (blocks + 2) >> 2)
    means = np.rint(pixels.reshape(4, 3, 10, 2, 3).sum((1, 3)).astype(np.float32) * np.float32(1 / 6))
    np.testing.assert_array_equal(made([4, 10], "area"), means)
    np.testing.assert_array_equal(made([5, 7], "nearest"), pixels[np.arange(5) * 12 // 5][:, np.arange(7) * 20 // 7])
    boxed = np.full((12, 25, 3), 114, np.uint8)
    boxed[:, 2:22] = pixels
    np.testing.assert_array_equal(made([12, 25], "linear", fit="letterbox", fill=114), boxed)


def test_a_picture_covers_a_size_as_by_pillow(tmp_path):
    """Alone it is as small as no side is less; a crop takes its middle."""
    im = Image.fromarray(np.random.default_rng(2).integers(0, 256, (37, 53, 3), dtype=np.uint8))
    im.save(tmp_path / "a.png")
    for h, w in [(20, 20), (30, 11), (11, 30), (37, 53), (80, 90)]:
        big = np.asarray(ImageOps.cover(im, (w, h), Image.BILINEAR))
        cover = {"resize": {"size": [h, w], "fit": "cover"}}
        np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png", transform=[cover]).numpy(), big)
        top, left = round((big.shape[0] - h) / 2), round((big.shape[1] - w) / 2)
        np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png", transform=[cover, {"center_crop": [h, w]}]).numpy(), big[top:top + h, left:left + w])


def test_transforms_change_a_picture_as_pillow_does(tmp_path):
    """An operation of a chance of 1 is Pillow's; what is drawn is the same for every call."""
    im = Image.fromarray(np.random.default_rng(3).integers(40, 200, (12, 20, 3), dtype=np.uint8))
    im.save(tmp_path / "a.png")

    def made(*transform):
        return spdl.io.load_image(tmp_path / "a.png", transform=[{"resize": [12, 20]}, *transform]).numpy()

    for op, want in (({"equalize": 1}, ImageOps.equalize(im)), ({"autocontrast": 1}, ImageOps.autocontrast(im)), ({"solarize": {"threshold": 100, "p": 1}}, ImageOps.solarize(im, 100)),
                     ({"posterize": {"bits": 2, "p": 1}}, ImageOps.posterize(im, 2)), ({"random_rotation": [90, 90]}, im.rotate(90))):
        np.testing.assert_array_equal(made(op), np.asarray(want), str(op))
    turned = im.rotate(30, expand=True)
    ahead = [{"random_rotation": {"degrees": [30, 30], "expand": True}}, {"resize": [12, 20]}]
    np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png", transform=ahead).numpy(), np.asarray(turned.resize((20, 12), Image.BILINEAR)))
    ahead = [{"random_rotation": [30, 30]}, {"resize": 9}]
    np.testing.assert_array_equal(spdl.io.load_image(tmp_path / "a.png", transform=ahead).numpy(), np.asarray(im.rotate(30).resize((15, 9), Image.BILINEAR)))
    with pytest.raises(spdl.SpecError, match="image.transform: random_rotation with expand leaves the size of the picture to chance"):
        spdl.io.load_image(tmp_path / "a.png", transform=[{"random_rotation": {"degrees": 9, "expand": True}}, {"resize": 9}])
    for op in ({"rand_augment": {"num_ops": 16, "magnitude": 30}}, {"gaussian_blur": 5}):
        np.testing.assert_array_equal(made(op), made(op))
        assert not np.array_equal(made(op), np.asarray(im))
    with pytest.raises(spdl.SpecError, match="image.transform.*gaussian_blur: got kernel_size 25 for rows of 12 x 20"):
        made({"gaussian_blur": 25})


@pytest.mark.parametrize("array", [
    np.arange(6, dtype="<i4").reshape(2, 3), np.arange(6, dtype=">f8").reshape(3, 2), np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)),
    np.zeros((0, 4), "u1"), np.float16(3.5), np.array([True, False]),
], ids=["little", "big", "fortran", "empty", "scalar", "bool"])
def test_load_npy_gives_what_numpy_gives(array):
    data = npy(array)
    got = spdl.io.load_npy(data).numpy()
    assert got.shape == np.shape(array) and got.dtype == np.asarray(array).dtype.newbyteorder("=")
    np.testing.assert_array_equal(got, array)


def test_booleans_stay_booleans(tmp_path):
    """As bytes they index in place of masking, and ~ of them is 254 and 255."""
    mask, values, packed = np.array([[True, False], [False, True]]), np.arange(4).reshape(2, 2), io.BytesIO()
    np.savez_compressed(packed, mask=mask, values=values)
    (tmp_path / "mask.npy").write_bytes(npy(np.asfortranarray(mask)))
    for got in (spdl.io.load_npy(npy(mask)), spdl.io.load_npy(npy(mask), copy=True), spdl.io.load_npy(tmp_path / "mask.npy"),
                spdl.io.load_npz(packed.getvalue())["mask"], spdl.io.convert_array(mask), pickle.loads(pickle.dumps(spdl.io.load_npy(npy(mask))))):
        assert got.dtype == "bool" and got.tolist() == mask.tolist() and got.memoryview().format == "?"
        assert values[got.numpy()].tolist() == [0, 3] and (~np.from_dlpack(got.copy())).tolist() == (~mask).tolist()
    assert spdl.io.load_npz(packed.getvalue()).info == {"booleans": ["mask"]} and spdl.io.load_npz(packed.getvalue())["values"].dtype == "int64"
    torch = pytest.importorskip("torch")
    assert spdl.io.load_npy(npy(mask)).torch(copy=True).dtype == torch.bool


def test_load_npz_gives_every_array():
    out = io.BytesIO()
    arrays = {"a": np.arange(5), "b/c": np.ones((2, 2), "f4"), "f": np.asfortranarray(np.arange(6).reshape(2, 3))}
    np.savez(out, **arrays)
    got = spdl.io.load_npz(out.getvalue())
    assert set(got) == set(arrays)
    assert isinstance(got, spdl.io.NpzFile) and got.files == list(got) and "d" not in got and "a.npy" in got
    for name, array in arrays.items():
        np.testing.assert_array_equal(got[name].numpy(), array)
        np.testing.assert_array_equal(got[f"{name}.npy"][1:], array[1:])
    with pytest.raises(KeyError):
        got["d.npy"]
    packed = io.BytesIO()
    np.savez_compressed(packed, x=np.arange(1000))
    np.testing.assert_array_equal(spdl.io.load_npz(packed.getvalue())["x"].numpy(), np.arange(1000))


def test_archives_give_their_files(tmp_path):
    files = {"a/1.txt": b"one", "a/" + "long" * 40 + ".bin": bytes(range(256)) * 9, "empty": b""}
    tar, zipped = io.BytesIO(), io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as out:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in files.items():
            out.writestr(name, data)
    (tmp_path / "a.tar").write_bytes(tar.getvalue())
    for got in (spdl.io.iter_tarfile(tar.getvalue()), spdl.io.iter_tarfile(tmp_path / "a.tar"), spdl.io.iter_zipfile(zipped.getvalue())):
        assert [(name, bytes(view)) for name, view in got] == list(files.items())
    with pytest.raises(spdl.SampleError, match="array: tar: truncated: got 1500 bytes, which end within a header"):
        spdl.io.iter_tarfile(tar.getvalue()[:1500])


def test_a_tar_is_read_from_a_stream(tmp_path):
    """As much as is asked for, compressed or not; of directories and links nothing; an archive that stops early is damaged."""
    files = {"a.txt": b"one", "b.bin": bytes(range(256)) * 40, "empty": b""}
    for mode in ("w", "w:gz", "w:xz"):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode=mode) as archive:
            folder = tarfile.TarInfo("folder")
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        assert [(name, bytes(view)) for name, view in spdl.io.iter_tarfile(io.BytesIO(out.getvalue()))] == list(files.items())
        assert next(spdl.io.iter_tarfile(io.BytesIO(out.getvalue())))[0] == "a.txt"
        with pytest.raises(spdl.SampleError, match="tar"):
            list(spdl.io.iter_tarfile(io.BytesIO(out.getvalue()[:len(out.getvalue()) // (9 if mode == "w" else 2)])))
    with pytest.raises(spdl.SampleError, match="tar"):
        list(spdl.io.iter_tarfile(io.BytesIO(b"no archive" * 100)))


def test_load_npy_copies_if_asked():
    data = bytearray(npy(np.arange(5)))
    view, copy = spdl.io.load_npy(data), spdl.io.load_npy(data, copy=True)
    data[-8:] = bytes(8)
    assert view.numpy()[-1] == 0 and copy.numpy()[-1] == 4 and not copy.readonly


def test_load_wav_is_a_view_where_it_can_be(noise):
    data = bytearray(wav_bytes(noise))
    samples = spdl.io.load_wav(data)
    assert samples.shape == (1000, 2) and samples.dtype == "int16" and not samples.readonly
    samples.numpy()[0, 0] = 77
    assert struct.unpack_from("<h", data, 44)[0] == 77
    assert spdl.io.load_wav(bytes(data)).readonly
    np.testing.assert_array_equal(spdl.io.load_wav(data, 0.05, 0.025).numpy(), noise[400:600])
    for start, duration, want in ((None, None, noise), (None, 0.05, noise[:400]), (0.1, None, noise[800:]), (0.1, 9, noise[800:])):
        np.testing.assert_array_equal(spdl.io.load_wav(wav_bytes(noise), start, duration).numpy(), want)
    for start, duration, text in ((99, None, "begins after the end: it begins at frame 792000 of 1000"), (0.125, 1, "frame 1000 of 1000"), (0, 1e-5, "holds no samples")):
        with pytest.raises(spdl.SampleError, match=text):
            spdl.io.load_wav(data, start, duration)
    header = spdl.io.parse_wav(data)
    assert (header["rate"], header["channels"], header["frames"]) == (RATE, 2, 1000)


def test_torch_is_told_whose_read_only_memory_it_is(noise, monkeypatch):
    """Of what was loaded there is no ring; and a warning of the one is none of the other."""
    monkeypatch.setattr(spdl.arrays, "_warned", set())
    view = spdl.io.load_wav(wav_bytes(noise))
    with pytest.warns(UserWarning) as told:
        for owner in (view._owner, view._owner, None):
            spdl.arrays._warn_read_only(owner)
    texts = [str(warning.message) for warning in told]
    assert len(texts) == 2 and "view of read-only bytes" in texts[0] and "ring" not in texts[0] and "this ring is shared" in texts[1]
    pytest.importorskip("torch")
    monkeypatch.setattr(spdl.arrays, "_warned", set())
    with pytest.warns(UserWarning, match="view of read-only bytes"):
        assert spdl.io.to_torch(view).shape == (1000, 2)


@pytest.mark.parametrize("width, codec, encoding, bits", [(1, "pcm_u8", "u8", 8), (2, "pcm_s16le", "s16", 16), (3, "pcm_s24le", "s24", 24)])
def test_parse_wav_gives_the_header(width, codec, encoding, bits):
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((2, width, RATE, 0, "NONE", ""))
        file.writeframes(bytes(2 * width * 400))
    want = {"format": "wav", "codec": codec, "encoding": encoding, "tag": 1, "bits": bits, "rate": RATE, "channels": 2, "frames": 400, "seconds": 0.05, "start": 0}
    assert spdl.io.parse_wav(out.getvalue()) == want
    if width == 3:
        with pytest.raises(spdl.SampleError, match="samples of s24 have no type of their own"):
            spdl.io.load_wav(out.getvalue())
    else:
        assert spdl.io.load(out.getvalue(), {"wav": {}}).info == want


def test_parse_wav_gives_the_header_of_compressed_samples():
    form = struct.pack("<HHIIHHHH", 0x11, 1, RATE, 4055, 256, 4, 2, 505)  # IMA ADPCM
    chunks = b"fmt " + struct.pack("<I", len(form)) + form + b"fact" + struct.pack("<II", 4, 4000) + b"data" + struct.pack("<I", 2048) + bytes(2048)
    data = b"RIFF" + struct.pack("<I", len(chunks) + 4) + b"WAVE" + chunks
    assert spdl.io.parse_wav(data) == {"format": "wav", "codec": "adpcm_ima_wav", "encoding": "", "tag": 0x11, "bits": 4,
                                       "rate": RATE, "channels": 1, "frames": 4000, "seconds": 0.5, "start": 0}
    with pytest.raises(spdl.SampleError, match="format tag 17"):
        spdl.io.load_wav(data)


def test_descriptions_may_hold_numpys_numbers_and_arrays(noise):
    out = io.BytesIO()
    Image.fromarray(np.full((6, 8, 3), 255, np.uint8)).save(out, "png")
    picture = spdl.io.load_image(out.getvalue(), dtype="f32", transform=[{"resize": (np.int64(4), np.int32(5))},
                                                                        {"normalize": {"mean": np.zeros(3), "std": np.full(3, 0.5, np.float32)}}])
    assert picture.shape == (4, 5, 3) and (picture.numpy() == 2).all()
    assert spdl.io.load_audio(wav_bytes(noise), sample_rate=np.int64(16000), num_channels=np.uint8(1), length=np.int16(2000)).shape == (1, 2000)
    assert spdl.io.load_audio(wav_bytes(noise), sample_rate=16000.0).shape == (2, 2000)
    with pytest.raises(spdl.SpecError, match="image.mode: the description is not plain data: got an object of type object"):
        spdl.io.load_image(out.getvalue(), mode=object())


def test_an_array_outlives_its_source_and_its_loader():
    """The data of a view stay where they are while any array, or what was made of it, lives; SPDL's own load_npy does not keep them."""
    want = np.arange(1 << 16, dtype="<i8")
    view = spdl.io.load_npy(npy(want)).numpy()
    tensor = np.from_dlpack(spdl.io.load_audio(wav_bytes(np.ones((500, 1), np.int16))))
    junk = [bytes(view.nbytes) for _ in range(8)]
    gc.collect()
    np.testing.assert_array_equal(view, want)
    assert tensor.shape == (1, 500) and float(tensor.sum()) == pytest.approx(500 / 32768)
    del junk


def test_copies_and_pickles_have_their_own_memory(noise):
    """Whatever becomes of what was decoded; and with what an array knows beside its elements."""
    picture = io.BytesIO()
    Image.fromarray(np.full((4, 4, 3), 9, np.uint8)).save(picture, "png")
    for way in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        kept = spdl.io.load_npy(npy(np.arange(1000)))
        made = [way(kept), way(kept.copy()), way(spdl.io.load_wav(wav_bytes(noise)))]
        batch = way(spdl.io.load_image_batch([picture.getvalue(), b"none"], strict=False))
        loaded = way(spdl.io.load(wav_bytes(noise), {"audio": {}})) if way is not copy.copy else None
        del kept
        gc.collect()
        overwritten = [bytearray(b"\xff" * 8063) for _ in range(50)]
        assert made[0].tolist() == made[1].tolist() == list(range(1000)) and made[2].numpy().tolist() == noise.tolist()
        assert batch.rows == [0] and list(batch.failures) == [1] and (batch.numpy() == 9).all() and batch.shape == (1, 4, 4, 3)
        assert loaded is None or (loaded.info["rate"] == RATE and np.array_equal(loaded["audio"].numpy(), noise.T.astype(np.float32) / 32768))
        del overwritten


def test_memory_is_given_back():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    data, growth = wav_bytes(np.zeros((1 << 20, 1), np.int16)), []  # 4 MiB of float32
    for _ in range(6):
        before = resident()
        for _ in range(20):
            spdl.io.load_audio(data)
        gc.collect()
        growth.append(resident() - before)
    assert min(growth) < 4 << 20, growth  # 80 MiB were decoded in each round: what is kept would grow in every one


def test_threads_load_at_the_same_time(noise):
    data, wrong = wav_bytes(noise), []
    want = noise.T.astype(np.float32) / 32768

    def run():
        for _ in range(50):
            if not np.array_equal(spdl.io.load_audio(data).numpy(), want):
                wrong.append(1)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("call, error, text", [
    (lambda: spdl.io.load_audio("/nowhere/a.wav"), spdl.SampleError, "no such file"),
    (lambda: spdl.io.load_audio(b""), spdl.SampleError, ""),
    (lambda: spdl.io.load_image(b"no picture at all, only text"), spdl.SampleError, "not an image"),
    (lambda: spdl.io.load_npy(npy(np.arange(99))[:200]), spdl.SampleError, "truncated"),
    (lambda: spdl.io.load_npy(npy(np.zeros((1,) * 9))), spdl.SampleError, "9 dimensions, want at most 8"),
    (lambda: spdl.io.load_audio(b"x", sample_rte=1), spdl.SpecError, "sample_rte"),
    (lambda: spdl.io.load_audio(b"x", layout="LNC"), spdl.SpecError, "audio.layout"),
    (lambda: spdl.io.load_audio(3), spdl.ArgumentError, "want a path or contiguous bytes$"),
    (lambda: spdl.io.load_image(io.BytesIO(b"x")), spdl.ArgumentError, r"of BytesIO, want .*; of an open file pass what read\(\) gives"),
    (lambda: spdl.io.load_image([b"x"]), spdl.ArgumentError, "of list, want .*; of several, one at a time"),
    (lambda: spdl.io.load_image("/tmp"), spdl.SampleError, '"/tmp": got a directory, want a regular file'),
    (lambda: spdl.io.load_wav("/tmp"), spdl.SampleError, '"/tmp": got a directory, want a regular file'),
    (lambda: spdl.io.load_image("/dev/null"), spdl.SampleError, "got a fifo, socket or device, want a regular file, or its bytes"),
    (lambda: spdl.io.load(b"x", {"picture": {}}), spdl.SpecError, "picture"),
    (lambda: spdl.io.load_audio(b"x", sample_rate=44100.9), spdl.ArgumentError, "load_audio: sample_rate=44100.9, want a whole number"),
    (lambda: spdl.io.load_audio(b"x", num_channels=True), spdl.ArgumentError, "num_channels=True, want a whole number"),
    (lambda: spdl.io.sample_decode_video(b"x", [0, 1.9]), spdl.ArgumentError, r"sample_decode_video: indices\[1\]=1.9, want a whole number"),
    (lambda: spdl.io.sample_decode_video(b"x", 3), spdl.ArgumentError, r"sample_decode_video: indices=3, want a list of whole numbers, such as \[0, 10, -1\]"),
    (lambda: spdl.io.sample_decode_video(b"x", slice(0, 3)), spdl.ArgumentError, "indices=slice.0, 3, None., want a list of whole numbers"),
    (lambda: spdl.io.load(b"x", "video"), spdl.SpecError, 'the description is of str, want a mapping, such as {"video": {}}'),
    (lambda: spdl.io.load(b"x", None), spdl.SpecError, "the description is of NoneType, want a mapping"),
    (lambda: spdl.io.load_video(b"x", index_dir=3), TypeError, "index_dir is of type int, want text"),
    (lambda: spdl.io.sample_decode_video(b"x", []), spdl.SpecError, "video.select.indices: got an empty list"),
    (lambda: spdl.io.streaming_load_video(b"x", 2.7), spdl.ArgumentError, "streaming_load_video: num_frames=2.7, want a whole number"),
    (lambda: spdl.io.load_video(b"x", scaler="area", transform=[{"resize": 20}]), spdl.SpecError, "video.scaler: got area without resize"),
    (lambda: spdl.io.load_image("a.png\0.jpg"), spdl.ArgumentError, "has a zero byte in it, where C would end it"),
    (lambda: spdl.io.load_image_batch(["a.png\0.jpg"]), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.streaming_load_video("a.mp4\0", 2), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.iter_tarfile("http://127.0.0.1/a.tar\0?x"), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.load_video(b"x", name="x"), spdl.SpecError, "video.name: unknown key; valid here: from"),
    (lambda: spdl.io.load_video(b"x", size=8), spdl.SpecError, "video.size: unknown key; the transform says how large"),
    (lambda: spdl.io.load_image(b"x", filter_desc="hflip"), spdl.Unsupported, r"load_image: filter_desc: pictures go through no filters; want transform=\[...\]"),
    (lambda: spdl.io.load_audio(b"x", device_config=3), spdl.Unsupported, "load_audio: device_config: the array comes to memory"),
    (lambda: spdl.io.load_video(b"x", device_config=3), spdl.Unsupported, "load_video: device_config: the array comes to memory"),
    (lambda: spdl.io.load_image(b"x", device_config=3), spdl.Unsupported, "load_image: device_config: the array comes to memory"),
    (lambda: spdl.io.load_image("file://host/a.png"), spdl.ArgumentError, "names a file of another machine, want file:///PATH"),
    (lambda: spdl.io.demux_image("file:///a%00.png"), spdl.ArgumentError, "has a zero byte in it"),
    (lambda: spdl.io.load_image("file:///nowhere/a%20b.png"), spdl.SampleError, "nowhere/a b.png"),
    (lambda: spdl.io.encode_image, AttributeError, "use save_image"),
    (lambda: spdl.io.streaming_load_video_nvdec, AttributeError, "use streaming_load_video"),
    (lambda: spdl.io.load_vidoe, AttributeError, "no attribute"),
])
def test_refusals_say_what_is_wrong(call, error, text):
    with pytest.raises(error, match=text):
        call()


LITTLE_MEMORY = """
import io, resource
from PIL import Image
import spdl, spdl.io
file = io.BytesIO()
Image.new("L", (12000, 12000)).save(file, "PNG")
small = io.BytesIO()
Image.new("L", (8, 8)).save(small, "PNG")
spdl.io.load_image(small.getvalue())
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + (200 << 20),) * 2)
for load in (lambda: spdl.io.load_image(file.getvalue()), lambda: spdl.io.load_image_batch([small.getvalue(), file.getvalue()], width=9, height=9)):
    try:
        load()
    except spdl.OutOfMemory as error:
        print(error)
print(spdl.io.load_image(small.getvalue()).shape)
"""


def test_a_lack_of_memory_is_no_fault_of_the_sample():
    """What a server would blame its client for; it goes on behind it."""
    ran = subprocess.run([sys.executable, "-c", LITTLE_MEMORY], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    alone, of_two, behind = ran.stdout.splitlines()
    assert "memory" in alone and "sample 1 of 2: " in of_two and "memory" in of_two and behind == "(8, 8, 3)"
