"""Make the trap files of this directory, and frames.json: what an independent reader (PyAV, with an FFmpeg of its own)
finds in them. Run with PyAV 18.1.0; the files are committed because another encoder writes other bytes.

Every frame carries its number as a row of eight black or white blocks, so that a test can read off which frame it got.
"""

import fractions
import io
import json
import pathlib
import struct
import subprocess

import av
import numpy as np

HERE = pathlib.Path(__file__).parent
W, H = 64, 48


def picture(number, width=W, height=H):
    """Grey levels: a moving gradient, eight blocks over it that spell the number."""
    y, x = np.mgrid[0:height, 0:width]
    p = ((x * 2 + y + number * 3) % 160 + 40).astype(np.uint8)
    block = width // 8
    for bit in range(8):
        p[height // 4 : height * 3 // 4, bit * block : (bit + 1) * block] = 235 if number >> bit & 1 else 16
    return np.stack([p, p // 2 + 40, 255 - p], axis=-1)


def encode(stream, n, pts, first=0, width=W, height=H, **frame):
    for i in range(n):
        f = av.VideoFrame.from_ndarray(picture(first + i, width, height), format="rgb24")
        f = f.reformat(format=stream.pix_fmt, **frame)
        f.pts = pts(i)
        yield from stream.encode(f)
    yield from stream.encode(None)


def write(name, codec="libx264", n=30, pts=lambda i: i, rate=30, base=None, size=(W, H), pix_fmt="yuv420p", options=None,
          container_options=None, shift=0, reformat=None, **stream_fields):
    with av.open(str(HERE / name), "w", options=container_options or {}) as out:
        s = out.add_stream(codec, rate=rate, options=options or {})
        s.width, s.height, s.pix_fmt = *size, pix_fmt
        s.thread_count = 1
        s.time_base = base or fractions.Fraction(1, rate)
        s.codec_context.time_base = s.time_base
        for key, value in stream_fields.items():
            setattr(s.codec_context, key, value)
        for p in encode(s, n, pts, width=size[0], height=size[1], **(reformat or {})):
            if shift:
                p.pts += shift
                p.dts += shift
            out.mux(p)


X264 = {"preset": "medium", "crf": "24", "g": "10", "bf": "3", "x264-params": "scenecut=0:b-pyramid=normal:threads=1"}


def with_(x264, **more):
    o = dict(X264, **more)
    o["x264-params"] += ":" + x264
    return o


def boxes(data, start=0, end=None, inside=(b"moov", b"trak", b"mdia", b"minf", b"stbl", b"edts")):
    end = len(data) if end is None else end
    while start + 8 <= end:
        size, kind = struct.unpack(">I4s", data[start : start + 8])
        if size < 8:
            return
        yield kind, start, start + size
        if kind in inside:
            yield from boxes(data, start + 8, start + size)
        start += size


def rotate(name, to, matrix):
    data = bytearray((HERE / name).read_bytes())
    for kind, start, _ in boxes(data):
        if kind == b"tkhd":
            at = start + 8 + 4 + 20 + 8 + 8
            data[at : at + 36] = struct.pack(">9i", *[v << 16 for v in matrix[:2]], 0, *[v << 16 for v in matrix[2:4]], 0,
                                             *[v << 16 for v in matrix[4:]], 1 << 30)
    (HERE / to).write_bytes(data)


def make_files():
    write("bframes.mp4", options=X264, n=40)
    write("irregular.mkv", options=X264, pts=lambda i: i * 40 + (i * i * 7) % 33, base=fractions.Fraction(1, 1000), rate=25)
    write("irregular.mp4", options=X264, pts=lambda i: i * 400 + (i * i * 7) % 330, base=fractions.Fraction(1, 12800), rate=25)
    write("late.ts", options=X264)
    write("fragments.mp4", options=X264, container_options={"movflags": "frag_keyframe+empty_moov+default_base_moof"})
    write("opengroup.mkv", options=with_("open-gop=1"), n=40)
    write("opengroup.ts", options=with_("open-gop=1"), n=40)
    write("opengroup_hevc.mp4", "libx265", n=40,
          options={"preset": "fast", "crf": "26", "x265-params": "keyint=10:min-keyint=10:scenecut=0:open-gop=1:bframes=3:pools=none:frame-threads=1:log-level=none"})
    write("refresh.mkv", options=with_("intra-refresh=1:keyint=12", bf="0"), n=40)
    # Frame numbers go to 15: each refresh begins at 0, where FFmpeg makes up nothing for its pictures to refer to.
    write("refresh_at_0.mkv", options=with_("intra-refresh=1:keyint=16", bf="0"), n=60)
    # The first ten frames lie before the edit list's start: they are decoded, never shown.
    write("edit.mp4", options=X264, shift=-10 * 512, base=fractions.Fraction(1, 15360), pts=lambda i: i * 512, n=40,
          container_options={"use_editlist": "1", "avoid_negative_ts": "disabled"})
    write("odd.webm", "libvpx-vp9", size=(63, 47), options={"crf": "30", "b": "0", "g": "10", "cpu-used": "4", "lag-in-frames": "8"}, n=20)
    write("odd_vp8.webm", "libvpx", size=(63, 47), options={"crf": "10", "b": "1M", "g": "10", "cpu-used": "4"}, n=12)
    write("odd_mpeg4.avi", "mpeg4", size=(63, 47), options={"g": "10", "bf": "2", "qscale": "3"}, flags=2, n=20)
    write("full.mp4", options=with_("fullrange=on:colormatrix=bt709"), pix_fmt="yuvj420p", n=10,
          reformat={"dst_colorspace": "ITU709", "dst_color_range": "JPEG"})
    write("bt709.mp4", options=with_("colormatrix=bt709"), n=10, reformat={"dst_colorspace": "ITU709"})
    write("ten_bits.mp4", options=X264, pix_fmt="yuv420p10le", n=10)
    write("planar444.mp4", options=X264, pix_fmt="yuv444p", n=10)
    write("av1.mp4", "libsvtav1", options={"preset": "8", "crf": "35", "g": "10", "svtav1-params": "lp=1"}, n=20)
    write("mpeg2.mpg", "mpeg2video", options={"g": "10", "bf": "2", "q": "4"}, n=20)
    write("motion.mov", "mjpeg", pix_fmt="yuvj420p", options={"q": "5"}, n=8)
    with av.open(str(HERE / "motion.mov")) as f:  # a camera's: pictures one behind the other
        (HERE / "no_times.mjpeg").write_bytes(b"".join(map(bytes, f.demux(video=0))))
    write("no_times.avi", options=X264, n=20)
    (HERE / "no_times.h264").write_bytes(raw_h264(0, 20, (W, H)))
    write("base.mp4", options=X264, n=12)
    for name, matrix in {"turned90.mp4": (0, 1, -1, 0, H, 0), "turned180.mp4": (-1, 0, 0, -1, W, H),
                         "turned270.mp4": (0, -1, 1, 0, 0, W), "mirrored.mp4": (-1, 0, 0, 1, W, 0)}.items():
        rotate("base.mp4", name, matrix)
    (HERE / "base.mp4").unlink()
    lying_avi()
    hole()
    two_sizes()
    cropped()
    ten_bits_vp9()
    grain_av1()
    layers_av1()
    fields()
    packed()
    no_video()
    rare_pixels()
    cut()
    joined()
    called_keys()


X265 = "keyint=5:scenecut=0:bframes=2:pools=none:frame-threads=1:log-level=none"


def rare_pixels():
    """Colours, depths, layouts of planes and shapes of pixels that phones, cameras and studios make."""
    wide = {"dst_colorspace": "BT2020", "dst_color_range": "MPEG"}
    write("hdr.mp4", "libx265", pix_fmt="yuv420p10le", n=10, reformat=wide,
          options={"crf": "20", "x265-params": X265 + ":colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc:range=limited"})
    write("hlg422.mp4", "libx265", pix_fmt="yuv422p10le", n=10, reformat=wide,
          options={"crf": "20", "x265-params": X265 + ":colorprim=bt2020:transfer=arib-std-b67:colormatrix=bt2020nc:range=limited"})
    write("twelve_bits.mp4", "libx265", pix_fmt="yuv420p12le", n=6, options={"crf": "20", "x265-params": X265})
    write("ten_bits_full.mp4", options=with_("fullrange=on:colormatrix=bt709"), pix_fmt="yuv420p10le", n=10,
          reformat={"dst_colorspace": "ITU709", "dst_color_range": "JPEG"})
    write("planar422.mp4", options=X264, pix_fmt="yuv422p", n=10)
    write("prores.mov", "prores_ks", pix_fmt="yuv422p10le", n=4, options={"profile": "standard"})
    write("prores_alpha.mov", "prores_ks", pix_fmt="yuva444p10le", n=4, options={"profile": "4444"})
    write("planar411.mkv", "ffv1", pix_fmt="yuv411p", n=4)
    write("planar440.mkv", "ffv1", pix_fmt="yuv440p", n=4)
    write("grey.mp4", options=X264, pix_fmt="gray", n=10)
    write("grey.mkv", "ffv1", pix_fmt="gray", n=4)
    write("sixteen_bits.mkv", "ffv1", pix_fmt="gray16le", n=4)
    write("rgb.mp4", "libx264rgb", pix_fmt="bgr24", options=X264, n=10)
    write("rgb_bottom_up.avi", "rawvideo", pix_fmt="bgr24", n=3)
    write("palette.gif", "gif", pix_fmt="rgb8", n=6, rate=25)
    write("interlaced.mp4", options=with_("tff=1"), n=10)
    write("wide_pixels.mp4", options=X264, n=10, sample_aspect_ratio=fractions.Fraction(4, 3))


def lying_avi():
    """A header that names a third of the frames."""
    data = bytearray((HERE / "odd_mpeg4.avi").read_bytes())
    at = data.index(b"avih") + 8
    struct.pack_into("<I", data, at + 16, 7)
    at = data.index(b"strh") + 8
    struct.pack_into("<I", data, at + 32, 7)
    (HERE / "lying.avi").write_bytes(data)


def hole():
    """A packet that no frame comes of: a picture "not coded", as encoders leave it that drop one."""
    write("base.mp4", "mpeg4", options={"g": "10", "qscale": "4"}, n=20)
    with av.open(str(HERE / "base.mp4")) as src, av.open(str(HERE / "hole.mp4"), "w") as out:
        s = out.add_stream_from_template(src.streams.video[0])
        for i, p in enumerate(q for q in src.demux(src.streams.video[0]) if q.size):
            p.stream = s
            out.mux(p)
            if i == 13:
                empty = av.Packet(b"\0\0\1\xb6\x50\x4f")
                empty.pts, empty.dts, empty.time_base, empty.stream = p.pts + 100, p.dts + 100, p.time_base, s
                out.mux(empty)
    (HERE / "base.mp4").unlink()


def raw_h264(first, n, size):
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="h264") as out:
        s = out.add_stream("libx264", rate=30, options=X264)
        s.width, s.height, s.pix_fmt = *size, "yuv420p"
        s.thread_count = 1
        for p in encode(s, n, lambda i: i, first, *size):
            out.mux(p)
    return buffer.getvalue()


def two_sizes():
    """The picture becomes larger half-way."""
    raw = raw_h264(0, 10, (W, H)) + raw_h264(10, 10, (96, 64))
    with av.open(io.BytesIO(raw), format="h264", options={"framerate": "30"}) as src:
        with av.open(str(HERE / "two_sizes.ts"), "w") as out:
            s = out.add_stream_from_template(src.streams.video[0])
            order = [p for p in src.demux(src.streams.video[0]) if p.size]
            times = decode_order(0, 10, (W, H)) + decode_order(10, 10, (96, 64))
            for dts, (p, pts) in enumerate(zip(order, times, strict=True)):
                p.stream, p.time_base = s, fractions.Fraction(1, 30)
                p.pts, p.dts = pts + 2, dts
                out.mux(p)


def cropped():
    """H.264 with the picture in the lower right of what is coded; what is on its left and above it is to be cut off."""
    raw = io.BytesIO()
    with av.open(raw, "w", format="h264") as out:
        s = out.add_stream("libx264", rate=30, options=with_("crop-rect=64,16,6,4", bf="0"))
        s.width, s.height, s.pix_fmt = 64 + W + 6, 16 + H + 4, "yuv420p"
        s.thread_count = 1
        for i in range(12):
            whole = np.pad(picture(i), ((16, 4), (64, 6), (0, 0)), constant_values=255)
            f = av.VideoFrame.from_ndarray(whole, format="rgb24").reformat(format="yuv420p")
            f.pts = i
            out.mux(s.encode(f))
        out.mux(s.encode(None))
    raw.seek(0)
    with av.open(raw, format="h264", options={"framerate": "30"}) as src, av.open(str(HERE / "cropped.mp4"), "w") as out:
        s = out.add_stream_from_template(src.streams.video[0])
        s.time_base = fractions.Fraction(1, 30)
        for i, p in enumerate(q for q in src.demux(src.streams.video[0]) if q.size):
            p.stream, p.time_base, p.pts, p.dts, p.duration = s, fractions.Fraction(1, 30), i, i, 1
            out.mux(p)


def ten_bits_vp9():
    """By the command ffmpeg (Debian 12's): the libvpx that comes with PyAV has eight bits alone."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(HERE / "ten_bits.mp4"), "-c:v", "libvpx-vp9", "-pix_fmt", "yuv420p10le", "-crf", "30", "-b:v", "0",
                    "-g", "5", "-cpu-used", "4", "-threads", "1", "-fflags", "+bitexact", str(HERE / "ten_bits.webm")], check=True)


def grain_av1():
    """By the command, whose libaom PyAV lacks: hidden frames that are shown later, and grain."""
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(HERE / "bframes.mp4"), "-c:v", "libaom-av1", "-pix_fmt", "yuv420p", "-crf", "30", "-b:v", "0", "-g", "20",
                    "-cpu-used", "8", "-lag-in-frames", "19", "-aom-params", "film-grain-test=5", "-threads", "1", "-fflags", "+bitexact", str(HERE / "grain.mkv")], check=True)


def layers_av1():
    """One group by the SVT-AV1 of Debian 12 (PyAV's has others): most frames refer to few others, and the last of a layer to the first alone."""
    pixels = b"".join(picture(i, 64, 64).tobytes() for i in range(100))
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "64x64", "-r", "30", "-i", "-", "-c:v", "libsvtav1", "-pix_fmt", "yuv420p",
                    "-preset", "10", "-crf", "40", "-g", "200", "-svtav1-params", "lp=1", "-fflags", "+bitexact", str(HERE / "layers.mp4")], input=pixels, check=True, capture_output=True)


def decode_order(first, n, size):
    """Presentation times of x264's packets, from a container that knows them."""
    with av.open(io.BytesIO(), "w", format="mp4") as out:
        s = out.add_stream("libx264", rate=30, options=X264)
        s.width, s.height, s.pix_fmt, s.thread_count = *size, "yuv420p", 1
        s.time_base = s.codec_context.time_base = fractions.Fraction(1, 30)
        return [first + p.pts for p in encode(s, n, lambda i: i, first, *size)]


class Bits:
    """A string of bits, written as H.264 writes them."""

    def __init__(self):
        self.bits = []

    def u(self, n, v):
        self.bits += [v >> (n - 1 - i) & 1 for i in range(n)]
        return self

    def ue(self, *values):
        for v in values:
            self.u(2 * (v + 1).bit_length() - 1, v + 1)
        return self

    def raw(self, data):
        self.bits += [0] * (-len(self.bits) % 8) + np.unpackbits(np.frombuffer(data, np.uint8)).tolist()
        return self

    def nal(self, ref, kind):
        self.u(1, 1)
        body, out, zeros = np.packbits(np.array(self.bits, np.uint8)).tobytes(), bytearray([ref << 5 | kind]), 0
        for b in body:
            if zeros >= 2 and b <= 3:
                out.append(3)
                zeros = 0
            out.append(b)
            zeros = 0 if b else zeros + 1
        return b"\0\0\0\1" + bytes(out)


FIELD_SIZE = (64, 32)


def field_headers():
    """SPS of interlaced pictures of 64x32, 25 a second, and PPS."""
    sps = Bits().u(8, 77).u(8, 0).u(8, 21).ue(0, 0, 0, 4, 1).u(1, 0).ue(3, 0).u(4, 0b0010)
    sps.u(1, 1).u(4, 0).u(1, 1).u(32, 1).u(32, 50).u(1, 1).u(3, 0).u(2, 3).ue(0, 0, 10, 10, 0, 1)
    pps = Bits().ue(0, 0).u(2, 0).ue(0, 0, 0).u(3, 0).ue(0, 0, 0).u(3, 4)
    return sps.nal(3, 7) + pps.nal(3, 8)


def field(planes, bottom, k, idr, order):
    """One field of frame k of its group: a slice of I_PCM. order: 0 for the field that comes first."""
    key, ref = k == 0 and order == 0, 3 if k == 0 else 0
    s = Bits().ue(0, 7, 0).u(4, 0 if k == 0 else 1).u(1, 1).u(1, bottom)
    if key:
        s.ue(idr)
    s.u(8, 2 * k + order)
    if ref:
        s.u(2 if key else 1, 0)
    s.ue(0, 1)
    y, u, v = (p[bottom::2] for p in planes)
    for x in range(0, FIELD_SIZE[0], 16):
        s.ue(25).raw(y[:, x : x + 16].tobytes() + u[:, x // 2 : x // 2 + 8].tobytes() + v[:, x // 2 : x // 2 + 8].tobytes())
    return s.nal(ref, 5 if key else 1)


def fields():
    """H.264 of field pictures, which x264 does not make: a packet for each field, or one for both, which come in turns then."""
    for name, together in {"no_times_fields.h264": False, "fields.ts": False, "field_pairs.mkv": True}.items():
        units = []
        for i in range(6):
            frame = av.VideoFrame.from_ndarray(picture(i, *FIELD_SIZE), format="rgb24").reformat(format="yuv420p")
            planes = [np.frombuffer(p, np.uint8).reshape(p.height, -1)[:, : p.width] for p in frame.planes]
            first = 1 if together and i % 3 == 1 else 0
            for order, bottom in enumerate((first, 1 - first)):
                head = field_headers() if i % 3 == 0 and order == 0 else b""
                units.append(Bits().u(3, 0).nal(0, 9) + head + field(planes, bottom, i % 3, i // 3, order))
        if name.endswith(".h264"):
            (HERE / name).write_bytes(b"".join(units))
            continue
        if together:
            units = [a + b for a, b in zip(units[::2], units[1::2])]
        with av.open(io.BytesIO(b"".join(units)), format="h264") as src, av.open(str(HERE / name), "w") as out:
            s = out.add_stream_from_template(src.streams.video[0])
            for i, unit in enumerate(units):
                p = av.Packet(unit)
                p.stream, p.time_base = s, fractions.Fraction(1, 25 if together else 50)
                p.pts, p.dts, p.is_keyframe = i, i, i % (3 if together else 6) == 0
                out.mux(p)


def packed():
    """MPEG-4 as DivX packed it: a B-frame travels in the packet of the P-frame that it comes after, and an empty one follows."""
    write("base.avi", "mpeg4", options={"g": "10", "bf": "1", "qscale": "4", "sc_threshold": "1000000000", "b_strategy": "0"}, n=20)
    with av.open(str(HERE / "base.avi")) as src, av.open(str(HERE / "no_times_packed.avi"), "w") as out:
        s = out.add_stream_from_template(src.streams.video[0])
        packets = [bytes(p) for p in src.demux(src.streams.video[0]) if p.size]
        chunks = []
        for p in packets:
            at = p.index(VOP)
            if vop(p) != "B":
                chunks.append(p[: p.index(USER_DATA)] + USER_DATA + b"DivX503b1393p" + p[at:] if USER_DATA in p[:at] else p)
            else:
                chunks[-1] += p
                chunks.append(VOP + b"\x50\x4f")
        for i, chunk in enumerate(chunks):
            q = av.Packet(chunk)
            q.stream, q.time_base, q.is_keyframe = s, fractions.Fraction(1, 30), vop(chunk) == "I"
            q.pts = q.dts = i
            out.mux(q)
    (HERE / "base.avi").unlink()
    # What is read of ASF is parsed: there the packets are apart, and the empty ones are left.
    subprocess.run(["ffmpeg", "-v", "quiet", "-y", "-i", str(HERE / "no_times_packed.avi"), "-c", "copy", "-fflags", "+bitexact", str(HERE / "no_times_packed.asf")], check=True)


VOP, USER_DATA = b"\0\0\1\xb6", b"\0\0\1\xb2"


def vop(data):
    """The kind of picture of a packet of MPEG-4."""
    return "IPBS"[data[data.index(VOP) + 4] >> 6]


def cut():
    """Recordings that begin in the middle of a group of pictures, or at a key frame of an open one, or at one that is but a recovery point."""
    data = (HERE / "opengroup.ts").read_bytes()
    at = [i for i in range(0, len(data), 188) if data[i + 1] & 0x1F == 0 and data[i + 2] == 0]  # tables are repeated
    (HERE / "cut.ts").write_bytes(data[at[1]:])
    for name, to, first in ("opengroup_hevc.mp4", "cut_hevc.ts", "key"), ("refresh.mkv", "cut_refresh.mkv", "key"), \
            ("opengroup.mkv", "cut.mkv", "key"), ("mpeg2.mpg", "cut_mpeg2.ts", 4):
        with av.open(str(HERE / name)) as src, av.open(str(HERE / to), "w") as out:
            s = out.add_stream_from_template(src.streams.video[0])
            packets = [p for p in src.demux(src.streams.video[0]) if p.size]
            if first == "key":
                first = [i for i, p in enumerate(packets) if p.is_keyframe][1]
            for p in packets[first:]:
                p.stream = s
                out.mux(p)


JOINED = "late.ts", "opengroup.ts"


def joined():
    """Two recordings one behind the other in a file, as cat makes it; the second one's clock begins anew."""
    (HERE / "joined.ts").write_bytes(b"".join((HERE / name).read_bytes() for name in JOINED))


def called_keys():
    """Files whose every packet is called a key frame: FFmpeg's parsers of H.261, H.263 and GIF do not look, and no more does AVI without its index."""
    for name, codec, size in ("called_keys.avi", "h263", (128, 96)), ("no_times.h261", "h261", (176, 144)), ("base.avi", "ffv1", (W, H)):
        write(name, codec, size=size, n=25, rate=25, options={"g": "10", "qscale": "5"})
    data = (HERE / "base.avi").read_bytes()
    (HERE / "no_index.avi").write_bytes(data[: data.rindex(b"idx1")])
    (HERE / "base.avi").unlink()
    # By the command (Debian 12's): PyAV puts no GIF into Matroska, and has no Xvid, which packs B-frames as DivX did. Of palette.avi the
    # first packet alone brings the colours. VC-2 is coded without references, but FFmpeg's decoder keeps some of what the packets before said; in
    # MPEG-TS the last packet is the end of the sequence, without a picture.
    for name, options in ("called_keys.mkv", "-c:v gif -t 1"), ("vc2.mkv", "-c:v vc2 -strict -2 -b:v 2M -frames:v 4"), ("pictureless/vc2.ts", "-c:v vc2 -strict -2 -b:v 2M -frames:v 4"), ("palette.avi", "-c:v rawvideo -pix_fmt pal8 -t 0.2"), ("no_times_xvid.avi", "-c:v libxvid -bf 2 -g 10 -q:v 5"):
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(HERE / "bframes.mp4"), *options.split(), "-fflags", "+bitexact", str(HERE / name)], check=True)


def read_joined():
    """The frames of both, the second one's times moved so that its packets go on where the first's end."""
    parts = [read(HERE / name) for name in JOINED]
    with av.open(str(HERE / JOINED[0])) as f:
        end = max(p.dts + p.duration for p in f.demux(video=0) if p.size)
    with av.open(str(HERE / JOINED[1])) as f:
        begin = next(p.dts for p in f.demux(video=0))
    first, second = parts
    return dict(first, pts=first["pts"] + [t + end - begin for t in second["pts"]], number=first["number"] + second["number"])


def no_video():
    with av.open(str(HERE / "sound.m4a"), "w") as out:
        s = out.add_stream("aac", rate=16000)
        s.layout = "mono"
        f = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        f.sample_rate = 16000
        for p in s.encode(f) + s.encode(None):
            out.mux(p)
    with av.open(str(HERE / "no_frames.mp4"), "w", options={"movflags": "empty_moov"}) as out:
        s = out.add_stream("libx264", rate=30)
        s.width, s.height, s.pix_fmt = W, H, "yuv420p"
        out.start_encoding()


def number(frame):
    """The number that a frame carries."""
    g = frame.to_ndarray(format="gray").astype(int)
    block = frame.width // 8
    bits = [g[frame.height // 2 - 3 : frame.height // 2 + 3, b * block + 2 : (b + 1) * block - 2].mean() > 125 for b in range(8)]
    return sum(1 << i for i, bit in enumerate(bits) if bit)


def decoded(container, stream):
    """What comes out, whatever does not."""
    for p in container.demux(stream):
        try:
            yield from p.decode()
        except av.error.InvalidDataError:
            assert "cut" in container.name


def read(path):
    if path.name == "joined.ts":
        return read_joined()
    with av.open(str(path)) as f:
        s = f.streams.video[0]
        frames = [(fr.pts, number(fr), fr.width, fr.height) for fr in decoded(f, s)]
        if "no_times" not in path.name:  # there the order in which frames come out is all there is
            frames.sort()
        return {"time_base": [s.time_base.numerator, s.time_base.denominator], "pts": [f[0] for f in frames],
                "number": [f[1] for f in frames], "size": sorted({f[2:] for f in frames})}


def record():
    """frames.json, of the files that are there."""
    found = {p.name: read(p) for p in sorted(HERE.iterdir())
             if p.is_file() and p.suffix not in (".py", ".json", ".m4a") and p.name not in ("no_frames.mp4", "hole.mp4")}
    lines = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()]
    (HERE / "frames.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    make_files()
    record()
