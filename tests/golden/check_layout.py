#!/usr/bin/env python3
"""Read the golden segments with nothing but layout.tsv and struct, as a stranger's client would."""
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).parent
LAYOUT = {}
for line in (HERE / "layout.tsv").read_text().splitlines():
    record, field, offset, size = line.split("\t")
    LAYOUT[record, field] = int(offset), int(size)
CONSTANT = dict(line.split("\t") for line in (HERE / "constants.tsv").read_text().splitlines())
CONSTANT = {name: int(value) for name, value in CONSTANT.items()}


class Refused(Exception):
    pass


def get(segment, base, record, field):
    """An unsigned integer field of the record at base; bytes of an array."""
    offset, size = LAYOUT[record, field]
    raw = segment[base + offset:base + offset + size]
    return int.from_bytes(raw, "little") if size in (1, 2, 4, 8) else raw


def name_of(raw):
    return raw.split(b"\0", 1)[0].decode()


def open_header(segment):
    """Check a header segment as far as docs/layout.md asks before the first look further."""
    if len(segment) < LAYOUT["spdl_l_header", "."][1]:
        raise Refused("truncated")
    h = {f: get(segment, 0, "spdl_l_header", f) for r, f in LAYOUT if r == "spdl_l_header" and f != "."}
    if h["magic"] != CONSTANT["SPDL_L_MAGIC_RING"]:
        raise Refused("magic")
    if h["layout_major"] != CONSTANT["SPDL_L_MAJOR"]:
        raise Refused("major")
    if h["endian"] != CONSTANT["SPDL_L_ENDIAN"]:
        raise Refused("endian")
    if h["features_required"] & ~CONSTANT["SPDL_L_KNOWN_REQUIRED"]:
        raise Refused("features")
    if h["header_bytes"] != len(segment):
        raise Refused("size")
    if h["n_slots"] > CONSTANT["SPDL_L_MAX_SLOTS"]:
        raise Refused("slots")
    if h["slot_stride"] == 0:
        raise Refused("stride")
    if h["desc_off"] + h["n_slots"] * h["desc_stride"] > len(segment):
        raise Refused("offset")
    return h


def expect(what, got, want):
    if got != want:
        sys.exit(f"golden: {what}: got {got!r}, want {want!r}")


def check_ring():
    segment = (HERE / "segments/header.bin").read_bytes()
    h = open_header(segment)
    expect("name", name_of(h["name"]), "golden")
    expect("slots, lanes, tensors", (h["n_slots"], h["n_lanes"], h["n_tensors"]), (6, 2, 4))
    expect("world", (h["world_size"], h["first_rank"], h["global_batch"], h["seed"]), (4, 2, 8, 17))
    expect("uid", h["ring_uid"], bytes(range(16)))
    expect("text", segment[h["text_off"]:h["text_off"] + h["text_bytes"]], b'{"classes":["cat","dog"]}')
    names = [name_of(get(segment, h["tensor_off"] + i * h["tensor_stride"], "spdl_l_tensor", "name")) for i in range(4)]
    expect("tensors", names, ["image", "index", "key", "status"])
    shape = struct.unpack("<8q", get(segment, h["tensor_off"], "spdl_l_tensor", "shape"))
    expect("shape", shape, (2, 4, 4, 3, 0, 0, 0, 0))
    tickets = [get(segment, h["desc_off"] + i * h["desc_stride"], "spdl_l_desc", "ticket") for i in range(4)]
    expect("tickets", tickets, [0, 1, 2, 3])
    key = h["desc_off"] + h["desc_tensor_off"] + 2 * h["desc_tensor_stride"]
    expect("key bytes", get(segment, key, "spdl_l_desc_tensor", "bytes"), 11)
    groups = [name_of(get(segment, h["group_off"] + i * h["group_stride"], "spdl_l_group", "name")) for i in range(2)]
    expect("groups", groups, ["train", "ranks"])
    queues = [get(segment, h["queue_off"] + i * h["queue_stride"], "spdl_l_queue", "tail") for i in range(3)]
    expect("tails", queues, [4, 2, 2])
    return h, segment


def check_group(h, header):
    segment = (HERE / "segments/group-train.bin").read_bytes()
    expect("group magic", get(segment, 0, "spdl_l_ghead", "magic"), CONSTANT["SPDL_L_MAGIC_GROUP"])
    expect("group uid", get(segment, 0, "spdl_l_ghead", "ring_uid"), h["ring_uid"])
    word_off, stride = (get(segment, 0, "spdl_l_ghead", f) for f in ("word_off", "word_stride"))
    words = []
    for slot in range(6):
        word = get(segment, word_off + slot * stride, "spdl_l_word", "word")
        words.append((word >> 60, word >> 40 & 0xFFFFF, word & (1 << 40) - 1))
    redo = 1 << 39
    expect("words", words, [(0, 0, 0), (3, 2, redo), (2, 2, 2), (1, 0, 3), (0, 0, 0), (0, 0, 0)])
    attempts = [get(segment, word_off + slot * stride, "spdl_l_word", "attempts") for slot in range(4)]
    expect("attempts", attempts, [1, 2, 1, 1])
    lane = get(segment, 0, "spdl_l_ghead", "lane_off")
    ready = lane + get(segment, 0, "spdl_l_ghead", "ready_off")
    entries = struct.unpack_from("<4Q", segment, ready)
    expect("entries", [(e >> 24, e & 0xFFFFFF) for e in entries], [(0, 0), (1, 1), (2, 2), (3, 3)])
    entry, = struct.unpack_from("<Q", segment, lane + get(segment, 0, "spdl_l_ghead", "redo_off"))
    expect("redo entry", (entry >> 24, entry & 0xFFFFFF), (redo, 1))
    expect("redo tail", get(header, h["queue_off"], "spdl_l_queue", "redo_tail"), 1)


def main():
    h, header = check_ring()
    check_group(h, header)
    files = sorted((HERE / "segments").glob("*.bin"))
    for path in files:
        if path.name.startswith("group"):
            continue
        try:
            open_header(path.read_bytes())
            refused = False
        except Refused:
            refused = True
        expect(path.name + " refused", refused, path.name.startswith("broken"))
    print(f"golden: {len(LAYOUT)} fields and {len(files)} segments agree")


main()
