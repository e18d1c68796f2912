"""Descriptions that are drawn, of lists, packed documents, mixtures and pictures in every shape, through every way that a run may go: a service that is killed in the middle and goes on with its ring, a state
that another engine goes on from, one rank and two in turn, and batches that are made again. Whatever the way, each batch has the same bytes, and comes once. --seeds N tries as many."""

import io
import itertools
import json
import random

import numpy as np
from engines import PATIENCE
from PIL import Image
from proof import command

FORMS = ["lists", "packed", "mixed", "open", "many", "tiles", "sizes", "boxes"]


def lists(r, file, n):
    lines = [{"ids": [r.randint(0, 999) for _ in range(r.randint(1, 30))], "x": r.random() + 0.1, "label": i % 3} for i in range(n)]
    file.write_text("".join(json.dumps({**line, "len": len(line["ids"])}) + "\n" for line in lines))
    return {"list": str(file)}


def picture(r):
    data = io.BytesIO()
    pixels = np.random.default_rng(r.getrandbits(32)).integers(0, 256, (r.choice([3, 8, 20, 33]), r.choice([4, 9, 21, 40]), 3), np.uint8)
    Image.fromarray(pixels).save(data, "png")
    return r.choice([data.getvalue()] * 11 + [b"no picture"])


def table(r, at, n, several):
    with open(at / "p.jsonl", "w") as out:
        for i in range(n):
            names = [f"{i}_{k}.png" for k in range(r.randint(0, 4) if several else 1)]
            for name in names:
                (at / name).write_bytes(picture(r))
            boxes = r.randint(0, 3)
            out.write(json.dumps({"path": names if several else names[0], "boxes": [[0, 0, 3, 3]] * boxes, "classes": list(range(boxes))}) + "\n")
    return {"list": str(at / "p.jsonl")}


def drawn_description(r, at, form):
    """A description of one rank's engine, whose number of rows two ranks can share."""
    n, batch = r.randint(7, 30), 2 * r.randint(1, 3)
    order = {"seed": r.randint(0, 99), "epochs": 2, "last": r.choice(["cover", "pad", "drop"] if n >= batch * 4 else ["cover", "pad"])}
    spec = {"batch": batch, "order": order, "ring": {"hash": "xxh3", "slots": r.choice([6, 12]), "delivery": r.choice(["ordered", "ordered", "ready"])},
            "bad_sample": {"policy": r.choice(["skip", "mask"]), "max_rate": 1}}
    shape = {"shape": r.choice(["fixed", "padded", "ragged"])}
    ids = {"name": "ids", "type": "list", "dtype": r.choice(["i32", "u16"])}
    if form in ("lists", "mixed"):
        ids.update(max_length=30, padded=r.random() < 0.5)
        spec["source"] = {**lists(r, at / "t.jsonl", n), "columns": [ids, {"name": "len", "type": "i64"}, {"name": "x", "type": "f64"}]}
        way = r.choice([{}, {"buckets": {"by": "len", "count": 3}}, {"buckets": {"by": "len", "count": 3, "max_total": 120, "multiple_of": 2}}, {"weights": "x"}, {"stratify": "label"}, {"group": "label"}])
        order.update(way if form == "lists" else {})
        if form == "mixed":
            parts = [lists(r, at / f"{k}.jsonl", r.randint(5, 20)) for k in range(2)]
            spec["source"] = {"mix": [{**part, "weight": r.choice([1, 3])} for part in parts], "columns": spec["source"]["columns"]}
    elif form == "packed":
        long = r.choice([{"length": 40}, {"length": 40, "strategy": "wrapped"}, {"length": 13, "long": "split"}])
        spec["source"], order["last"] = {**lists(r, at / "t.jsonl", n), "columns": [ids], "packing": long}, r.choice(["cover", "pad"])
    else:
        spec["source"], flip = table(r, at, n, form == "many"), {"horizontal_flip": 0.5}
        spec["image"] = {
            "open": {"shape": r.choice(["padded", "ragged"]), "transform": [{"random_shortest_size": {"min_size": [8, 12], "max_size": 30}}, flip]},
            "many": {"many": {"most": 3, "over": "cut", **shape}, "transform": [{"random_resized_crop": 12}, flip]},
            "tiles": {"tiles": {"size": 8, "max": 4, **shape}},
            "sizes": {"transform": [{"resize": {"size": "bucket", "fit": "cover"}}, {"random_crop": "bucket"}, flip]},
            "boxes": {"boxes": {"column": "boxes", "with": ["classes"]}, "transform": [{"random_resized_crop": 16}, flip]},
        }[form]
        if form == "sizes":
            order["buckets"] = {"sizes": [[8, 8], [8, 16], [16, 8]]}
        if form == "boxes":
            columns = {"boxes": {"dtype": "f32", "shape": [-1, 4]}, "classes": {"dtype": "i64"}}
            spec["source"]["columns"] = [{"name": name, "type": "list", "max_length": 9, **column} for name, column in columns.items()]
    if not order.keys() & {"buckets", "weights", "stratify", "group"} and form not in ("mixed", "packed") and r.random() < 0.3:
        order["shuffle"] = False
    return spec


def told(batch):
    """All that a batch says, as bytes."""
    fields = [(name, batch.array(name)) for name in batch]
    parts = [(name, part) for name, field in fields for part in ([field.values, field.offsets] if hasattr(field, "offsets") else [field])]
    return batch.ticket, batch.epoch, batch.step, batch.hash, [(name, part.shape, bytes(part)) for name, part in parts]


def run(loader, most=None):
    """The batches, in the order of their tickets."""
    return sorted(itertools.islice((told(batch) for epoch in loader.epochs() for batch in epoch), most), key=lambda batch: batch[0])


def same(got, want):
    """But for the tickets, which begin anew with each engine."""
    assert [batch[1:] for batch in sorted(got, key=lambda batch: batch[2])] == [batch[1:] for batch in want]


def index(batches):
    return [np.frombuffer(dict((name, data) for name, _, data in fields)["index"], np.int64).tolist() for *_, fields in batches]


def test_every_way_gives_the_same_batches(serve, attach, open_, drawn, tmp_path):
    r = random.Random(drawn)
    spec = drawn_description(r, tmp_path, FORMS[drawn % len(FORMS)])
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    whole = run(open_(spec))

    ring = {**spec["ring"], "backing": "posix", "access": "shared", "reconnect": f"{PATIENCE}s", "groups": [{"name": "g"}]}
    engine = serve({**spec, "ring": ring})
    loader, killed, got = attach(engine.name, "g"), r.randrange(len(whole)), []
    for batch in (batch for epoch in loader.epochs() for batch in epoch):
        if len(got) == killed:
            engine.kill()
            engine = serve({**spec, "ring": ring}, name=engine.name)
        got.append(told(batch))
    same(got, whole)

    cut = r.randint(1, len(whole))
    loader = open_(spec)
    head = run(loader, cut)
    state = json.loads(json.dumps(loader.state_dict()))
    same(head + run(open_({**spec, "limits": {"cpus": 1}}, state=state)), whole)

    for _, _, step, hash_of, _ in r.sample(whole, min(3, len(whole))):
        assert int(json.loads(command("replay", tmp_path / "spec.json", step, "--json"))["hash"], 16) == hash_of

    in_order = {**spec, "ring": {**spec["ring"], "delivery": "ordered"}}
    two = {**in_order, "batch": spec["batch"] // 2}
    if "max_total" in (buckets := spec["order"].get("buckets", {})):
        two["order"] = {**spec["order"], "buckets": {**buckets, "max_total": buckets["max_total"] / 2, "multiple_of": 1}}
    cut, ranks = r.randrange(len(whole)), [open_({**two, "world": {"size": 2, "rank": rank}}) for rank in range(2)]
    heads = [index(run(loader, cut)) for loader in ranks]
    states = [loader.state_dict() for loader in ranks]
    assert states[0] == states[1], "ranks in step agree on where they are"
    rest = index(run(open_(in_order, state=states[0])))
    assert [a + b for a, b in zip(*heads, strict=True)] + rest == index(whole)
