"""spdl/_c.py, spdl/_feed.py, spdl/_gpu.py, spdl/pipeline/_host.py and include/spdl.h say the same."""

from __future__ import annotations

import ctypes
import inspect
import re
import subprocess

import pytest
from conftest import ROOT
from spdl import _c, _feed, _gpu
from spdl.io import _batch, _decoder, _graph, _load, _packets, _write
from spdl.pipeline import _host

HEADER = (ROOT / "include" / "spdl.h").read_text()
STRUCTS = {
    "spdl_attach_opts": _c.AttachOpts,
    "spdl_open_opts": _c.OpenOpts,
    "spdl_batch": _c.Batch,
    "spdl_tensor": _c.Tensor,
    "spdl_ring_info": _c.RingInfo,
    "spdl_reader_info": _c.ReaderInfo,
    "spdl_work": _host.Work,
    "spdl_give": _host.Give,
    "spdl_want": _feed.Want,
    "spdl_sample": _feed.Sample,
    "spdl_packet": _packets.Packet,
    "spdl_pin_opts": _gpu.PinOpts,
    "spdl_pin_info": _gpu.RawPinInfo,
}
FUNCTIONS = {
    **_c._FUNCTIONS, **_host.FUNCTIONS, **_feed.FUNCTIONS, **_gpu.FUNCTIONS, **_batch.FUNCTIONS, **_decoder.FUNCTIONS, **_graph.FUNCTIONS,
    **_load.FUNCTIONS, **_packets.FUNCTIONS, **_write.FUNCTIONS,
}


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _header_functions() -> dict[str, str]:
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    return {re.search(r"(spdl_\w+)\(", p).group(1): _flat(p) for p in re.findall(r"SPDL_API ([^;{]*?\);)", code)}


def test_structs_have_the_compilers_sizes_and_offsets(tmp_path):
    """Every struct and field of _c.py lies where a C compiler puts it."""
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));'
                  for field, *_ in struct._fields_]
    source = tmp_path / "sizes.c"
    source.write_text("#include <spdl.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\nreturn 0; }\n")
    subprocess.run(["cc", f"-I{ROOT}/include", source, "-o", tmp_path / "sizes"], check=True)
    said = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout.splitlines()
    want = []
    for name, struct in STRUCTS.items():
        want.append(f"{name} {ctypes.sizeof(struct)}")
        want += [f"{name}.{field} {getattr(struct, field).offset} {getattr(struct, field).size}"
                 for field, *_ in struct._fields_]
    assert said == want


def test_structs_have_all_fields_of_the_header():
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.S)
    for name, struct in STRUCTS.items():
        body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", code, re.S).group(1)
        fields = re.findall(r"(\w+)(?:\[\w+\])?;", body)
        assert [field for field, *_ in struct._fields_] == fields, name


def test_every_function_of_the_header_is_bound_under_its_own_prototype():
    """The comment above each binding is the header's prototype, and none is missing."""
    source = "".join(map(inspect.getsource, (_batch, _c, _decoder, _feed, _gpu, _graph, _host, _load, _packets, _write)))
    pairs = re.findall(r"# (.*?\);)\n    \"(spdl_\w+)\"", source)
    assert {name: _flat(prototype) for prototype, name in pairs} == _header_functions()
    assert set(FUNCTIONS) == set(_header_functions())


_C_TYPES = {
    "const char *": ctypes.c_char_p, "char *": ctypes.c_char_p, "uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64, "size_t": ctypes.c_size_t, "int": ctypes.c_int, "spdl_status": ctypes.c_int,
    "void": None, "void *": ctypes.c_void_p, "size_t *": ctypes.POINTER(ctypes.c_size_t), "spdl_reader *": ctypes.c_void_p,
    "spdl_pipeline *": ctypes.c_void_p, "spdl_pipeline **": ctypes.POINTER(ctypes.c_void_p),
    "uint64_t *": ctypes.POINTER(ctypes.c_uint64), "uint32_t *": ctypes.POINTER(ctypes.c_uint32),
    "const void *": ctypes.c_void_p, "const spdl_loaded *": ctypes.c_void_p, "spdl_loaded *": ctypes.c_void_p,
    "spdl_loaded **": ctypes.POINTER(ctypes.c_void_p), "spdl_loading *": ctypes.c_void_p,
    "spdl_loading **": ctypes.POINTER(ctypes.c_void_p), "const spdl_reader *": ctypes.c_void_p, "spdl_reader **": ctypes.POINTER(ctypes.c_void_p),
    "uint64_t": ctypes.c_uint64, "const volatile int *": ctypes.POINTER(ctypes.c_int), "const double *": ctypes.POINTER(ctypes.c_double),
    **{f"{const}spdl_{name} *": ctypes.c_void_p for name in ("demuxing", "packets", "muxer", "decoder", "bsf", "graph") for const in ("", "const ")},
    **{f"spdl_{name} **": ctypes.POINTER(ctypes.c_void_p) for name in ("demuxing", "packets", "muxer", "decoder", "bsf", "graph")},
    **{f"{const}{name} *": ctypes.POINTER(struct) for name, struct in STRUCTS.items() for const in ("", "const ")},
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bindings_have_the_types_of_their_prototypes(name):
    result, arguments = re.match(rf"(.*?){name}\((.*)\);", _header_functions()[name]).groups()
    arguments = re.sub(r"int \(\*(\w+)\)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", r"void *\1", arguments)  # a function is an address
    types = [] if arguments == "void" else [re.sub(r"\w+$", "", argument).strip() for argument in arguments.split(", ")]
    assert list(FUNCTIONS[name]) == [_C_TYPES[result.strip()], *(_C_TYPES[t] for t in types)]


def test_constants_have_the_headers_values():
    """Each constant of the header is in one of the files, with its value."""
    values = {n: int(v) for n, v in re.findall(r"\bSPDL_(\w+) = (-?\d+)", HEADER)}
    values.update({n: int(v) for n, v in re.findall(r"#define SPDL_(\w+) (\d+)u?\b", HEADER)})
    assert len(values) > 50
    values = {n: v for n, v in values.items() if not n.startswith("VERSION_")}
    said = {**vars(_packets), **vars(_gpu), **vars(_host), **vars(_c)}
    assert {n: said.get(n) for n in values} == values
