"""Frames, times and colours against PyAV (an FFmpeg of its own) and torchcodec (the system's), on the trap files."""

import json
import pathlib
from fractions import Fraction

import numpy as np
import pytest

from tools import Tool

av = pytest.importorskip("av", reason="PyAV is not installed (requirements-bench.txt)")

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "core/media/video/testdata"
GOLDEN = json.loads((FILES / "frames.json").read_text())
KINDS = ["All", "Uniform", "Segments", "Every", "AtIndices", "AtTimes", "FPS", "KeyFrames", "ClipsRandomIndices",
         "ClipsRegularIndices", "ClipsRandomTimes", "ClipsRegularTimes"]
TORCHCODEC, ACCURATE = 0, 1
THWC, TCHW, CTHW = 0, 1, 2
TIMED = [n for n in sorted(GOLDEN) if "no_times" not in n]


class Videos(Tool):
    def row(self, name, *, size=None, frames=0, kind="All", in_memory=False, image=None, draw=None, select=None, **config):
        image = dict(image or {})
        if size:
            image["Out"] = {"H": size[0], "W": size[1]}
        select = dict(select or {}, Kind=KINDS.index(kind))
        config = dict(Image=image, Frames=frames, Select=select, **config)
        answer, data = self.ask(FILES / name, config, draw, in_memory=in_memory)
        self.info, self.pts, self.duration = answer["info"], answer["pts"], answer["duration"]
        return np.frombuffer(data, np.uint8 if not image.get("DType") else np.float32).reshape(answer["shape"])


@pytest.fixture(scope="session")
def videos(tmp_path_factory):
    v = Videos("videotool", tmp_path_factory.mktemp("videotool"))
    yield v
    v.close()


def torch_decoder(name, **options):
    decoders = pytest.importorskip("torchcodec.decoders", reason="torchcodec is not installed (requirements-bench.txt)")
    return decoders.VideoDecoder(str(FILES / name), dimension_order="NHWC", **options)


def size_of(name):
    w, h = GOLDEN[name]["size"][0]
    return h, w


# What torchcodec 0.17 on FFmpeg 5.1 does not give: it seeks past frames in transport and program streams, refuses the last
# frame of an AVI with B-frames, knows no mirrored display matrix, resizes later frames to the first one's size,
# takes each field of fields.ts for a frame, counts packets that give none (cut*), and shows the two halves of joined.ts at the same times;
# of palette.avi it has no colours but black, and in no_index.avi it seeks to pictures that are no key frames.
NOT_TORCHCODECS = {"cut.ts", "cut_hevc.ts", "cut_mpeg2.ts", "cut_refresh.mkv", "fields.ts", "joined.ts", "late.ts", "opengroup.ts", "mpeg2.mpg",
                   "lying.avi", "no_index.avi", "odd_mpeg4.avi", "palette.avi", "mirrored.mp4", "two_sizes.ts", "vc2.mkv"}
SAME = [n for n in TIMED if n not in NOT_TORCHCODECS]


@pytest.mark.parametrize("name", SAME)
def test_frames_times_and_colours_are_torchcodecs(videos, name):
    d = torch_decoder(name)
    want = d.get_frames_in_range(0, len(d))
    got = videos.row(name, size=tuple(want.data.shape[1:3]), frames=len(d), Colour=TORCHCODEC)
    assert videos.info["frames"] == len(d)
    np.testing.assert_allclose(videos.pts, want.pts_seconds.numpy(), atol=1e-9)
    np.testing.assert_array_equal(got, want.data.numpy())


def noise(path, pixels, width, height):
    """Two uncompressed frames of any bytes."""
    with av.open(str(path), "w", format="nut") as out:
        s = out.add_stream("rawvideo", rate=10)
        s.width, s.height, s.pix_fmt = width, height, pixels
        for i in range(2):
            f = av.VideoFrame.from_ndarray(np.random.default_rng([width, height, i]).integers(0, 256, (height, width, 3), dtype=np.uint8), format="rgb24")
            f = f.reformat(format=pixels)
            f.pts = i
            out.mux(s.encode(f))
        out.mux(s.encode(None))


@pytest.mark.parametrize("pixels", ["yuv420p", "yuvj420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv422p10le", "nv12", "gbrp", "yuva420p", "yuyv422", "gray", "bgr24"])
def test_frames_of_every_width_are_torchcodecs_in_every_layout(videos, tmp_path, pixels):
    for width in [*range(1, 36), 50, 66, 100, 130, 340, 426, 854]:
        for height in (16, 17):
            path = tmp_path / f"{width}x{height}.nut"
            noise(path, pixels, width, height)
            want = torch_decoder(path)[:].numpy()
            for axes, order in ((THWC, (0, 1, 2, 3)), (TCHW, (0, 2, 3, 1)), (CTHW, (1, 2, 3, 0))):
                got = videos.row(path, size=(height, width), frames=2, Colour=TORCHCODEC, Axes=axes).transpose(order)
                np.testing.assert_array_equal(got, want, err_msg=f"{width}x{height}, axes {axes}")


# After a seek torchcodec shows pictures of an intra refresh before they have recovered; ours are those of the whole decode.
@pytest.mark.parametrize("name", [n for n in SAME if not n.startswith("refresh")])
def test_the_frame_on_show_is_torchcodecs(videos, name):
    d = torch_decoder(name)
    m = d.metadata
    # not on a frame's very edge, where one rounding decides
    times = [float(t) for t in np.random.default_rng(7).uniform(m.begin_stream_seconds, m.end_stream_seconds, 25)]
    want = d.get_frames_played_at(times)
    got = videos.row(name, size=tuple(want.data.shape[1:3]), kind="AtTimes", select={"Times": times}, Colour=TORCHCODEC)
    np.testing.assert_allclose(videos.pts, want.pts_seconds.numpy(), atol=1e-9)
    np.testing.assert_array_equal(got, want.data.numpy())


@pytest.mark.parametrize("name", ["bframes.mp4", "irregular.mkv", "edit.mp4"])
@pytest.mark.parametrize("window", [(0.1, 0.4), (0.0, 0.05), (0.33, 5.0)])
def test_a_window_is_torchcodecs_played_range(videos, name, window):
    d = torch_decoder(name)
    stop = min(window[1], d.metadata.end_stream_seconds)
    want = d.get_frames_played_in_range(window[0], stop)
    videos.row(name, size=size_of(name), frames=60, select={"Window": [window[0], stop]})
    np.testing.assert_allclose(videos.pts, want.pts_seconds.numpy(), atol=1e-9)


# Rates whose moments are on no frame's very edge: there torchcodec's own rounding gives now and then the frame before.
@pytest.mark.parametrize("rate", [0.4, 3.1, 7, 11.3, 23.976, 47.3, 100.7])
@pytest.mark.parametrize("name", ["bframes.mp4", "irregular.mkv", "irregular.mp4", "edit.mp4", "hdr.mp4", "odd.webm", "opengroup.mkv"])
def test_a_rate_is_torchcodecs(videos, name, rate):
    want = torch_decoder(name).get_all_frames(fps=rate).data.numpy()
    got = videos.row(name, size=want.shape[1:3], frames=400, kind="FPS", select={"Rate": rate}, Colour=TORCHCODEC)
    assert videos.info["frames"] == max(len(want), 1)
    np.testing.assert_array_equal(got[:len(want)], want)


@pytest.mark.parametrize("rate", [7, 30])
def test_a_rate_in_a_window_is_torchcodecs(videos, rate):
    want = torch_decoder("irregular.mkv").get_frames_played_in_range(0.21, 0.93, fps=rate).data.numpy()
    got = videos.row("irregular.mkv", size=want.shape[1:3], frames=400, kind="FPS", select={"Rate": rate, "Window": [0.21, 0.93]}, Colour=TORCHCODEC)
    assert videos.info["frames"] == len(want)
    np.testing.assert_array_equal(got[:len(want)], want)


CLIPS = [dict(Clips=3, ClipFrames=4), dict(Clips=1, ClipFrames=8, Between=3), dict(Clips=50, ClipFrames=1),
         dict(Clips=2, ClipFrames=5, Between=2, RangeStart=4, RangeEnd=-1),
         dict(Clips=3, ClipFrames=4, Between=2, RangeStart=-3, RangeEnd=1000, Policy=1)]


@pytest.mark.parametrize("clips", CLIPS)
@pytest.mark.parametrize("name", ["bframes.mp4", "irregular.mkv"])
def test_regular_clips_are_torchcodecs(videos, name, clips):
    samplers = pytest.importorskip("torchcodec.samplers", reason="torchcodec is not installed")
    want = samplers.clips_at_regular_indices(
        torch_decoder(name), num_clips=clips["Clips"], num_frames_per_clip=clips["ClipFrames"],
        num_indices_between_frames=clips.get("Between", 1), sampling_range_start=clips.get("RangeStart", 0),
        sampling_range_end=clips.get("RangeEnd"), policy=["repeat_last", "wrap"][clips.get("Policy", 0)])
    got = videos.row(name, size=size_of(name), kind="ClipsRegularIndices", select=clips, Colour=TORCHCODEC)
    np.testing.assert_allclose(videos.pts, want.pts_seconds.numpy().ravel(), atol=1e-9)
    np.testing.assert_array_equal(got, want.data.numpy().reshape(got.shape))


@pytest.mark.parametrize("clips", [dict(BetweenClips=0.25, ClipFrames=3), dict(BetweenClips=0.1, ClipFrames=4, BetweenSecs=0.07),
                                   dict(BetweenClips=0.3, ClipFrames=4, RangeStart=0.2, RangeEnd=1.1, Policy=1)])
@pytest.mark.parametrize("name", ["bframes.mp4", "irregular.mkv"])
def test_regular_clips_by_time_are_torchcodecs(videos, name, clips):
    samplers = pytest.importorskip("torchcodec.samplers", reason="torchcodec is not installed")
    want = samplers.clips_at_regular_timestamps(
        torch_decoder(name), seconds_between_clip_starts=clips["BetweenClips"], num_frames_per_clip=clips["ClipFrames"],
        seconds_between_frames=clips.get("BetweenSecs"), sampling_range_start=clips.get("RangeStart"),
        sampling_range_end=clips.get("RangeEnd"), policy=["repeat_last", "wrap"][clips.get("Policy", 0)])
    videos.row(name, size=size_of(name), frames=200, kind="ClipsRegularTimes", select=clips)
    np.testing.assert_allclose(videos.pts, want.pts_seconds.numpy().ravel(), atol=1e-9)


# --- containers that do not say when pictures are shown ---


def moving(path, codec, container, base=25, between=2, **options):
    """Twenty pictures, 25 a second, none like those beside it; the container's clock may be finer. PyAV's frames as they come out of the decoder."""
    with av.open(str(path), "w", format=container) as out:
        s = out.add_stream(codec, rate=25, options=options)
        s.width, s.height, s.pix_fmt, s.codec_context.gop_size = 64, 48, "yuv420p", 10
        s.codec_context.max_b_frames = between
        s.time_base = s.codec_context.time_base = Fraction(1, base)
        for i in range(20):
            picture = np.add.outer(np.arange(48) * 2, np.arange(64) + i * 80).astype(np.uint8)
            f = av.VideoFrame.from_ndarray(np.stack([picture] * 3, -1), format="rgb24").reformat(format="yuv420p")
            f.pts = i * base // 25
            out.mux(s.encode(f))
        out.mux(s.encode(None))
    with av.open(str(path)) as f:
        return np.stack([fr.to_ndarray(format="rgb24").astype(int) for fr in f.decode(video=0)])


@pytest.mark.parametrize("codec, container", [("mpeg4", "m4v"), ("mpeg4", "asf"), ("mpeg2video", "asf"), ("mpeg1video", "asf"), ("mpeg2video", "mpeg2video")])
def test_pictures_are_in_the_order_in_which_they_are_shown_where_only_packets_have_times(videos, tmp_path, codec, container):
    path = tmp_path / "moving"
    want = moving(path, codec, container)
    got = videos.row(path, size=(48, 64), frames=20)
    assert len(want) == videos.info["frames"] == 20
    assert (np.diff(videos.pts) > 0).all()
    off = np.abs(got[:, None].astype(int) - want[None]).mean(axis=(2, 3, 4))
    np.testing.assert_array_equal(off.argmin(axis=1), np.arange(20))
    assert off.diagonal().max() < 8 and np.partition(off, 1, axis=1)[:, 1].min() > 2 * off.diagonal().max()


def test_pictures_of_an_avi_that_counts_fields_last_until_the_next(videos, tmp_path):
    path = tmp_path / "fields.avi"
    want = moving(path, "libx264", "avi", base=50, preset="veryfast")
    videos.row(path, size=(48, 64), frames=20)
    assert len(want) == videos.info["frames"] == 20
    np.testing.assert_allclose(np.diff(videos.pts), 1 / 25, atol=1e-9)
    np.testing.assert_allclose(videos.duration, 1 / 25, atol=1e-9)


# torchcodec says as much of the frame, but has its stream end where the frame begins: it does not show it, and of 25 frames at 25 a second it gives 24.
@pytest.mark.parametrize("codec, container", [("flv", "flv"), ("msmpeg4v2", "asf")])
def test_the_last_frame_is_on_show_where_the_container_names_no_durations(videos, tmp_path, codec, container):
    path = tmp_path / "moving"
    moving(path, codec, container, between=0)
    got = videos.row(path, size=(48, 64), frames=20)
    np.testing.assert_allclose(videos.duration, 1 / 25, atol=1e-9)
    np.testing.assert_allclose(torch_decoder(path).get_frame_at(19).duration_seconds, 1 / 25, atol=1e-9)
    last = videos.row(path, size=(48, 64), frames=1, kind="AtTimes", select={"Times": [videos.pts[-1] + 0.03]})
    np.testing.assert_array_equal(last[0], got[-1])
    np.testing.assert_array_equal(videos.row(path, size=(48, 64), frames=20, kind="FPS", select={"Rate": 25}), got)
    clip = videos.row(path, size=(48, 64), frames=2, kind="ClipsRegularTimes", select={"BetweenClips": 9, "ClipFrames": 2, "BetweenSecs": 0.04, "RangeStart": 0.73})
    np.testing.assert_array_equal(clip, got[-2:])


# --- turned, as PyAV and numpy turn it ---


@pytest.mark.parametrize("name, turn", [("turned90.mp4", lambda a: np.rot90(a, -1, (1, 2))), ("turned180.mp4", lambda a: np.rot90(a, 2, (1, 2))),
                                        ("turned270.mp4", lambda a: np.rot90(a, 1, (1, 2))), ("mirrored.mp4", lambda a: a[:, :, ::-1])])
def test_frames_are_turned_by_the_display_matrix(videos, name, turn):
    h, w = size_of(name)
    sent = videos.row(name, size=(h, w), frames=12, AsSent=True)
    want = turn(sent)
    got = videos.row(name, size=want.shape[1:3], frames=12)
    np.testing.assert_array_equal(got, want)


# --- geometry and types, from the frames as they are ---


@pytest.mark.parametrize("axes, order", [(THWC, (0, 1, 2, 3)), (TCHW, (0, 3, 1, 2)), (CTHW, (3, 0, 1, 2))])
def test_the_axes_are_in_the_order_asked_for(videos, axes, order):
    plain = videos.row("bframes.mp4", size=(48, 64), frames=45)
    assert not plain[40:].any()
    got = videos.row("bframes.mp4", size=(48, 64), frames=45, Axes=axes)
    np.testing.assert_array_equal(got, plain.transpose(order))


def test_frames_are_resized_and_normalised_as_pictures_are(videos):
    from PIL import Image

    plain = videos.row("bframes.mp4", size=(48, 64), frames=40)
    resized = np.stack([np.asarray(Image.fromarray(f).resize((30, 20), Image.BILINEAR)) for f in plain])
    image = {"Resize": {"H": 20, "W": 30}}
    np.testing.assert_array_equal(videos.row("bframes.mp4", frames=40, image=image), resized)
    mean, std = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    image.update(DType=3, Normalize={"Mean": mean, "Std": std})
    want = (resized.astype(np.float32) / np.float32(255) - np.float32(mean)) / np.float32(std)
    np.testing.assert_array_equal(videos.row("bframes.mp4", frames=40, image=image, Axes=CTHW), want.transpose(3, 0, 1, 2))


def test_every_frame_of_a_row_has_the_same_random_crop_and_flip(videos):
    image = {"Random": {"Scale": [0.2, 0.5], "Ratio": [0.75, 1.33]}, "Out": {"H": 16, "W": 16}, "Flip": 0.5}
    draws = [videos.row("bframes.mp4", image=image, kind="AtIndices", select={"Indices": [5] * 4 + [5, 5]}, draw={"Index": i}) for i in range(8)]
    for row in draws:
        assert (row == row[0]).all()
    assert len({row[0].tobytes() for row in draws}) == 8


# --- colours of our own definition, against floating point ---


def upsampled(c, shape, cosited_x):
    """A plane of chroma at every pixel: between lines by distance, along them from beside the left sample or the middle."""
    h, w = shape
    c = c.astype(np.float64)
    if c.shape[0] < h:
        y = np.arange(h)
        near, far = y // 2, np.clip(np.where(y % 2, y // 2 + 1, y // 2 - 1), 0, c.shape[0] - 1)
        c = (3 * c[near] + c[far]) / 4
    if c.shape[1] < w:
        x = np.arange(w)
        near, right = x // 2, np.clip(x // 2 + 1, 0, c.shape[1] - 1)
        if cosited_x:
            c = np.where(x % 2, (c[:, near] + c[:, right]) / 2, c[:, near])
        else:
            c = (3 * c[:, near] + c[:, np.where(x % 2, right, np.clip(x // 2 - 1, 0, None))]) / 4
    return c


def to_rgb(y, u, v, kr, kb, full, depth, cosited_x=True):
    unit = 2 ** (depth - 8)
    top = 256 * unit - 1
    luma = y / top if full else (y - 16.0 * unit) / (219 * unit)
    u, v = ((upsampled(p, y.shape, cosited_x) - 128 * unit) / (top if full else 224 * unit) for p in (u, v))
    r, b = luma + 2 * (1 - kr) * v, luma + 2 * (1 - kb) * u
    g = (luma - kr * r - kb * b) / (1 - kr - kb)
    return np.clip(np.stack([r, g, b], -1) * 255, 0, 255)


BT601, BT709, BT2020 = (0.299, 0.114), (0.2126, 0.0722), (0.2627, 0.0593)


@pytest.mark.parametrize("name, matrix, full, depth", [
    ("bframes.mp4", BT601, False, 8), ("bt709.mp4", BT709, False, 8), ("full.mp4", BT709, True, 8), ("ten_bits.mp4", BT601, False, 10),
    ("planar444.mp4", BT601, False, 8), ("odd.webm", BT601, False, 8), ("hdr.mp4", BT2020, False, 10), ("hlg422.mp4", BT2020, False, 10),
    ("ten_bits_full.mp4", BT709, True, 10), ("planar422.mp4", BT601, False, 8), ("planar440.mkv", BT601, False, 8), ("prores.mov", BT601, False, 10),
    ("twelve_bits.mp4", BT601, False, 12), ("prores_alpha.mov", BT601, False, 12), ("grey.mp4", BT601, False, 8), ("wide_pixels.mp4", BT601, False, 8), ("interlaced.mp4", BT601, False, 8)])
def test_accurate_colours_are_the_definitions(videos, name, matrix, full, depth):
    with av.open(str(FILES / name)) as f:
        frames = list(f.decode(video=0))
    kind = np.uint8 if depth == 8 else np.uint16

    def plane(p):
        return np.frombuffer(p, kind).reshape(p.height, -1)[:, : p.width]

    got = videos.row(name, size=size_of(name), frames=len(frames), Colour=ACCURATE).astype(np.float64)
    want = np.stack([to_rgb(*(plane(p) for p in fr.planes[:3]), *matrix, full, depth) for fr in frames])
    off = np.abs(got - want)
    assert off.max() <= (0.51 if depth <= 10 else 0.52)  # half a step, and what fourteen bits of a coefficient and two of a weight leave
    again = videos.row(name, frames=len(frames), image={"Resize": {"H": size_of(name)[0], "W": size_of(name)[1]}}, Colour=ACCURATE)
    np.testing.assert_array_equal(again, got)


@pytest.mark.parametrize("name, pixels", [
    ("rgb.mp4", lambda fr: fr.to_ndarray(format="rgb24")), ("rgb_bottom_up.avi", lambda fr: fr.to_ndarray(format="rgb24")),
    ("palette.gif", lambda fr: fr.to_ndarray(format="rgba")[..., :3]), ("grey.mkv", lambda fr: np.stack([fr.to_ndarray()] * 3, -1)),
    ("sixteen_bits.mkv", lambda fr: np.stack([fr.to_ndarray()] * 3, -1) / 257)])
@pytest.mark.parametrize("colour", [TORCHCODEC, ACCURATE])
def test_what_needs_no_matrix_is_left_as_it_is(videos, name, pixels, colour):
    with av.open(str(FILES / name)) as f:
        want = np.stack([pixels(fr) for fr in f.decode(video=0)]).astype(np.float64)
    got = videos.row(name, size=size_of(name), frames=len(want), Colour=colour)
    assert np.abs(got - want).max() <= (1.01 if name == "sixteen_bits.mkv" else 0)


# --- filters, as PyAV's graph of the same filters ---


def through(name, chain):
    """The frames of a file, in order, through a chain of filters; and their times."""
    with av.open(str(FILES / name)) as f:
        stream = f.streams.video[0]
        graph = av.filter.Graph()
        nodes = [graph.add_buffer(template=stream)] + [graph.add(*link) for link in chain] + [graph.add("buffersink")]
        for a, b in zip(nodes, nodes[1:]):
            a.link_to(b)
        graph.configure()
        frames = []
        for fr in [*f.decode(stream), None]:
            try:
                graph.push(fr)
            except av.error.EOFError:  # it wants no more
                break
            while True:
                try:
                    frames.append(graph.pull())
                except (BlockingIOError, av.error.EOFError):
                    break
        return frames, [float(fr.pts * fr.time_base) for fr in frames]


@pytest.mark.parametrize("name", ["bframes.mp4", "irregular.mkv", "opengroup_hevc.mp4", "edit.mp4"])
@pytest.mark.parametrize("chain", [
    [("hflip",)], [("crop", "32:24:16:12")], [("fps", "10")], [("fps", "47")], [("select", "not(mod(n,3))"), ("setpts", "N/TB/7")],
    [("trim", "start=0.2:end=0.5"), ("setpts", "PTS-STARTPTS")], [("tmix", "frames=3")], [("yadif", "1")], [("avgblur", "2"), ("transpose", "clock")],
])
def test_filters_are_ffmpegs(videos, name, chain):
    frames, times = through(name, chain)
    text = ",".join("=".join([link[0], *(a.replace(",", r"\,") for a in link[1:])]) for link in chain)
    want = [[np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, : p.width] for p in fr.planes] for fr in frames]
    got = videos.row(name, size=want[0][0].shape, frames=300, Filter=text, Colour=ACCURATE)
    assert videos.info["frames"] == len(frames)
    np.testing.assert_allclose(videos.pts, times, atol=1e-9)
    for ours, planes in zip(got, want):
        assert np.abs(ours - to_rgb(*planes, *BT601, False, 8)).max() <= 0.51
