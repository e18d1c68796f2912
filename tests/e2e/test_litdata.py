"""Data sets that litData has optimised: the same batches as from the folder of their pictures."""

import json
import struct

import numpy as np
import pytest
import spdl
from test_mds import check_columns, key, own_cache, server  # noqa: F401
from test_sources import TRANSFORM, check

pytestmark = pytest.mark.usefixtures("own_cache")
LEAVES = {"image": "jpeg", "label": "int", "about.score": "float", "about.caption": "str", "embedding": "tensor", "tokens": "no_header_numpy:5"}
COLUMNS = [{"name": "caption", "from": "about.caption"}, {"name": "embedding", "type": "npy"}, {"name": "score", "from": "about.score", "type": "f64"},
           {"name": "tokens", "type": "npy", "dtype": "u16", "shape": [-1], "max_length": 8}]
LEAF = {"type": None, "context": None, "children_spec": []}


def tree(kind, *names_and_children):
    """A node of a data_spec: a dict of what is named, or a tuple of what is not."""
    names, children = names_and_children[::2], names_and_children[1::2]
    return {"type": f"builtins.{kind}", "context": json.dumps(names if kind == "dict" else None), "children_spec": children}


SPEC = tree("dict", "image", LEAF, "label", LEAF, "about", tree("dict", "score", LEAF, "caption", LEAF), "embedding", LEAF, "tokens", LEAF)


def make_litdata(directory, samples, per):
    """A data set of some samples a chunk, as litData's BinaryWriter lays it out; the values of its samples."""
    directory.mkdir(parents=True)
    chunks, all_values = [], []
    for k, first in enumerate(range(0, len(samples), per)):
        rows = []
        for i, sample in enumerate(samples[first:first + per], first):
            embedding, tokens, caption = np.arange(4, dtype=np.float32) * i, np.arange(i % 8 + 1, dtype=np.uint16) + i, f"sample {i} ü" * (i % 3)
            all_values.append({"caption": caption, "embedding": embedding, "label": sample.label, "score": i / 4, "tokens": tokens})
            leaves = [sample.path.read_bytes(), struct.pack("<q", sample.label), struct.pack("<d", i / 4), caption.encode(), struct.pack(">III", 0, 1, 4) + embedding.tobytes(), tokens.tobytes()]
            rows.append(b"".join([*(struct.pack("<I", len(leaf)) for leaf in leaves), *leaves]))
        data = struct.pack("<I", len(rows)) + np.cumsum([4 * (len(rows) + 2), *map(len, rows)]).astype("<u4").tobytes() + b"".join(rows)
        (directory / f"chunk-0-{k}.bin").write_bytes(data)
        chunks.append({"chunk_bytes": len(data), "chunk_size": len(rows), "dim": None, "filename": f"chunk-0-{k}.bin"})
    config = {"chunk_bytes": None, "chunk_size": per, "compression": None, "data_format": list(LEAVES.values()), "data_spec": json.dumps([1, SPEC]), "encryption": None, "item_loader": "PyTreeLoader"}
    (directory / "index.json").write_text(json.dumps({"chunks": chunks, "config": config, "updated_at": "0"}))
    return all_values


def test_litdata_gives_what_the_folder_gives(pictures, tmp_path, open_):
    values = make_litdata(tmp_path / "lit", pictures.samples, 20)
    check(open_({"source": {"shards": str(tmp_path / "lit")}, **TRANSFORM}), pictures.samples, key(20))
    check_columns(open_({"source": {"shards": str(tmp_path / "lit"), "columns": COLUMNS}, **TRANSFORM, "order": {"seed": 3, "epochs": 2}}), values)


def test_serve_takes_the_directory(pictures, tmp_path, serve, attach, name):
    make_litdata(tmp_path / "lit", pictures.samples, 20)
    serve(str(tmp_path / "lit"), "--size", "24", "--no-shuffle", "--epochs", "1", "--batch", "8")
    check(attach(name), pictures.samples, key(20))


def test_a_store_is_read_in_any_order(pictures, server, open_):
    url, directory, _ = server
    values = make_litdata(directory / "lit", pictures.samples, 20)
    alone = {"source": {"shards": f"{url}/lit/", "columns": COLUMNS}, "batch": 8, "order": {"seed": 3, "epochs": 2}}
    check_columns(open_(alone), values)


def test_what_is_wrong_is_refused_by_name(pictures, tmp_path, open_):
    make_litdata(tmp_path / "lit", pictures.samples, 20)
    index = tmp_path / "lit/index.json"
    text = index.read_text()
    for old, new, said in (('"encryption": null', '"encryption": {}', "it is encrypted"), ("PyTreeLoader", "TokensLoader", "want PyTreeLoader's"), ('"chunk_size": 20', '"chunk_size": 21', "got 20 samples, want 21, as index.json says")):
        index.write_text(text.replace(old, new))
        with pytest.raises(spdl.SpdlError, match=said):
            open_({"source": {"shards": str(tmp_path / "lit")}, **TRANSFORM})
    index.unlink()
    with pytest.raises(spdl.SpdlError, match="litData's chunks are read by their index.json"):
        open_({"source": {"folder": str(tmp_path / "lit")}, **TRANSFORM})
