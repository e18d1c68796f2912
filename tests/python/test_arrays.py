"""Array and Ragged: views for numpy, torch, jax and for nobody, without a copy."""

from __future__ import annotations

import copy
import ctypes
import gc
import itertools
import pickle
import sys
import types
import weakref

import pytest
import spdl
from spdl import _dlpack
from spdl.arrays import Array, DType, Ragged

numpy = pytest.importorskip("numpy")


class Memory:
    """Bytes with an address, that a test can watch die."""

    def __init__(self, data: bytes) -> None:
        self.buffer = ctypes.create_string_buffer(data, max(len(data), 1) + 64)
        self.address = (ctypes.addressof(self.buffer) + 63) & ~63
        ctypes.memmove(self.address, data, len(data))


def make(values, dtype="float32", readonly=False, strides=None):
    """An Array over the elements of a numpy array, and a weak reference to what keeps its memory."""
    source = numpy.ascontiguousarray(values, dtype=dtype)
    memory = Memory(source.tobytes())
    code = {"i": 0, "u": 1, "f": 2}[source.dtype.kind]
    array = Array(memory, memory.address, source.shape, strides or source.strides, DType(code, 8 * source.itemsize), readonly)
    return array, weakref.ref(memory)


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned as DLPack's header has it, the end of its DLTensor left out."""

    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("manager_ctx", ctypes.c_void_p),
                ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("data", ctypes.c_void_p),
                ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64))]


ALL = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", ALL)
def test_numpy_sees_the_same_elements_in_the_same_memory(dtype):
    array, _ = make(numpy.arange(24).reshape(2, 3, 4), dtype)
    for view in (array.numpy(), numpy.asarray(array), numpy.from_dlpack(array)):
        assert view.dtype == dtype and view.shape == (2, 3, 4)
        assert view.__array_interface__["data"][0] == array._address
        assert (view == numpy.arange(24).reshape(2, 3, 4)).all()


@pytest.mark.parametrize("dtype", ALL)
def test_bytes_are_the_elements_in_c_order(dtype):
    array, _ = make(numpy.arange(24).reshape(2, 3, 4), dtype)
    padded = Array(array._owner, array._address, (2, 3, 2), array.strides, array.dtype, False)
    for view in (array, padded):
        assert bytes(view) == view.numpy().tobytes()


def bfloat16(*halves, shape=None):
    """An Array of these bits."""
    data = b"".join(half.to_bytes(2, "little") for half in halves)
    memory, shape = Memory(data), (len(halves),) if shape is None else shape
    strides = tuple(2 * int(numpy.prod(shape[i + 1:])) for i in range(len(shape)))
    return Array(memory, memory.address, shape, strides, DType(4, 16), False)


@pytest.mark.parametrize("dtype", [d for d in ALL if d != "float16"])
def test_memoryview_and_tolist_need_no_numpy(dtype):
    array, _ = make(numpy.arange(6).reshape(2, 3), dtype)
    view = array.memoryview()
    assert view.shape == (2, 3) and view.tolist() == [[0, 1, 2], [3, 4, 5]] == array.tolist()
    view[1, 2] = 7
    assert array.numpy()[1, 2] == 7


def test_memoryview_of_half_floats_is_bytes():
    array, _ = make([1.0, 2.0], "float16")
    assert bytes(array.memoryview()) == b"\x00\x3c\x00\x40"
    assert array.tolist() == [1.0, 2.0]


def test_tolist_gives_numbers_of_types_that_memoryview_has_not():
    assert bfloat16(0x3f80, 0xc000, 0x7f80, 0x0001, shape=(2, 2)).tolist() == [[1.0, -2.0], [float("inf"), 2.0 ** -133]]
    assert bfloat16(0x3f80, shape=()).tolist() == 1.0 and bfloat16(shape=(0, 3)).tolist() == []
    halves, _ = make([[0.5, -2.0], [65504.0, 0.0]], "float16")
    assert halves.tolist() == [[0.5, -2.0], [65504.0, 0.0]]
    eighths = Memory(b"\1\2")
    with pytest.raises(spdl.Unsupported, match="Python has no numbers of float8; use bytes"):
        Array(eighths, eighths.address, (2,), (1,), DType(2, 8), False).tolist()


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda array, n=n: pickle.loads(pickle.dumps(array, n)) for n in range(2, pickle.HIGHEST_PROTOCOL + 1)},
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("readonly", [False, True])
@pytest.mark.parametrize("dtype", ALL)
def test_copies_and_pickles_have_the_elements_in_memory_of_their_own(way, dtype, readonly):
    array, memory = make(numpy.arange(12).reshape(3, 4), dtype, readonly)
    padded = Array(array._owner, array._address, (3, 2), array.strides, array.dtype, readonly)
    made = [COPIES[way](a) for a in (array, array.copy(), padded)]
    del array, padded
    gc.collect()
    assert memory() is None
    for got, want in zip(made, (numpy.arange(12).reshape(3, 4), numpy.arange(12).reshape(3, 4), numpy.arange(12).reshape(3, 4)[:, :2])):
        assert type(got) is Array and got.dtype == dtype and got.shape == want.shape and not got.readonly
        assert got._address % got.dtype.itemsize == 0
        got.numpy()[0, 0] += 1
        want = want.copy()
        want[0, 0] += 1
        assert (got.numpy() == want).all()


@pytest.mark.parametrize("way", COPIES)
def test_copies_of_what_numpy_does_not_know(way):
    """Brain floats, nothing at all, and rows of unlike length."""
    got = COPIES[way](bfloat16(0x3f80, 0x4000))
    assert got.dtype == "bfloat16" and got.tolist() == [1.0, 2.0]
    for shape in ((0,), (2, 0)):
        got = COPIES[way](make(numpy.zeros(shape))[0])
        assert got.shape == shape and got.tolist() == numpy.zeros(shape).tolist()
    (values, memory), (offsets, _) = make([1, 2, 3, 4, 5, 6], "uint8"), make([0, 2, 2, 6], "int64")
    ragged = COPIES[way](Ragged(values, offsets, (2,)))
    del values
    assert memory() is None and ragged.step == (2,)
    assert [ragged.bytes_of(i) for i in range(3)] == [b"\1\2", b"", b"\3\4\5\6"]


def test_a_pickle_leaves_its_buffers_to_who_asks_for_them():
    array, memory = make(numpy.arange(1000), "int64")
    buffers = []
    small = pickle.dumps(array, 5, buffer_callback=buffers.append)
    del array
    assert len(small) < 500 and memory() is not None  # the buffer is a view
    back = bytearray(buffers[0].raw())
    del buffers
    gc.collect()
    assert memory() is None
    got = pickle.loads(small, buffers=[back])
    back[0] = 7
    assert got.tolist() == [7, *range(1, 1000)]  # over that memory
    odd = memoryview(bytearray(8001))[1:]
    assert pickle.loads(small, buffers=[odd])._address % 8 == 0
    with pytest.raises(spdl.ArgumentError, match=r"got 16 bytes, want those of int64\[1000\]: the pickle is damaged"):
        pickle.loads(small, buffers=[bytes(16)])


EXPORTS = {
    "numpy": lambda array: array.numpy(),
    "numpy's child": lambda array: array.numpy()[1:][:1],
    "dlpack": numpy.from_dlpack,
    "dlpack's child": lambda array: numpy.from_dlpack(array)[1:],
    "memoryview": lambda array: array.memoryview(),
    "memoryview's child": lambda array: array.memoryview()[1:],
}


@pytest.mark.parametrize("export", EXPORTS)
def test_memory_stays_until_the_last_view_dies(export):
    """The owner lives as long as any view, and dies with the last."""
    array, memory = make([1.0, 2.0, 3.0])
    view = EXPORTS[export](array)
    del array
    gc.collect()
    _dlpack.sweep()
    assert memory() is not None
    del view
    _dlpack.sweep()
    assert memory() is None


def test_read_only_memory_gives_views_that_cannot_be_made_writeable():
    array, _ = make([1.0, 2.0], readonly=True)
    view = array.numpy()
    assert not view.flags.writeable
    with pytest.raises(ValueError):
        view.flags.writeable = True
    assert array.memoryview().readonly
    with pytest.raises(TypeError):
        array.memoryview()[0] = 1


def test_read_only_memory_is_refused_to_a_consumer_that_cannot_mark_it():
    array, memory = make([1.0, 2.0], readonly=True)
    for version in (None, (0, 8)):
        with pytest.raises(BufferError, match="cannot mark memory read-only"):
            array.__dlpack__(max_version=version)
    own = array.__dlpack__(copy=True)
    assert "dltensor" in repr(own)


def test_a_versioned_capsule_says_read_only_and_copied():
    array, _ = make([1.0, 2.0], readonly=True)
    read = ctypes.pythonapi["PyCapsule_GetPointer"]
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for capsule, flags in [(array.__dlpack__(max_version=(1, 1)), _dlpack.READ_ONLY),
                           (array.__dlpack__(max_version=(1, 1), copy=True), _dlpack.IS_COPIED)]:
        managed = Versioned.from_address(read(capsule, b"dltensor_versioned"))
        assert (managed.major, managed.minor, managed.flags) == (1, 0, flags)
        assert (managed.device_type, managed.device_id, managed.ndim) == (1, 0, 1)
        assert (managed.code, managed.bits, managed.lanes) == (2, 32, 1)
        assert (managed.shape[0], managed.strides[0]) == (2, 1)


def test_a_capsule_that_nobody_takes_gives_its_memory_back():
    array, memory = make([1.0])
    capsule = array.__dlpack__()
    del array
    _dlpack.sweep()
    assert memory() is not None, "somebody may still take it"
    del capsule
    _dlpack.sweep()
    assert memory() is None


def test_an_exception_in_flight_survives_the_death_of_a_tensor():
    """A tensor that dies while an exception unwinds must not disturb it."""

    def use(tensor):
        raise LookupError("the caller's own")

    array, memory = make([1.0])
    with pytest.raises(LookupError, match="the caller's own"):
        use(numpy.from_dlpack(array))
    del array
    gc.collect()
    _dlpack.sweep()
    assert memory() is None


def test_wrong_requests_are_refused():
    array, _ = make([1.0])
    with pytest.raises(spdl.ArgumentError, match="stream 7 for memory of the CPU"):
        array.__dlpack__(stream=7)
    with pytest.raises(BufferError, match=r"device \(1, 0\), got \(2, 0\)"):
        array.__dlpack__(dl_device=(2, 0))
    assert array.__dlpack_device__() == (1, 0)


def test_bfloat16_is_refused_to_numpy_with_the_remedy_and_goes_through_dlpack():
    memory = Memory(b"\x80\x3f\x00\x40")
    array = Array(memory, memory.address, (2,), (2,), DType(4, 16), False)
    assert repr(array) == "<spdl.Array bfloat16[2]>"
    for take in (lambda: array.numpy(), lambda: numpy.asarray(array)):
        with pytest.raises(spdl.Unsupported, match="numpy has no bfloat16; use torch"):
            take()
    assert spdl.arrays.view(array) is array
    assert "dltensor" in repr(array.__dlpack__())


def test_memory_of_another_device_is_only_for_dlpack():
    array = Array(None, 64, (2,), (4,), DType(2, 32), False, device=(2, 1))
    assert array.__dlpack_device__() == (2, 1)
    for take in (array.numpy, array.memoryview, array.copy, array.tolist, lambda: pickle.dumps(array), lambda: copy.copy(array)):
        with pytest.raises(spdl.Unsupported, match=r"lies on device \(2, 1\)"):
            take()


def test_padded_rows_keep_their_strides_and_copies_are_dense():
    array, _ = make(numpy.arange(24), strides=None)
    padded = Array(array._owner, array._address, (2, 2, 3), (48, 16, 4), array.dtype, False)
    want = numpy.arange(24).reshape(2, 3, 4)[:, :2, :3]
    assert (padded.numpy() == want).all() and (numpy.from_dlpack(padded) == want).all()
    assert padded.tolist() == want.tolist()
    copy = padded.copy()
    assert copy.strides == (24, 12, 4) and (copy.numpy() == want).all()
    with pytest.raises(BufferError, match="rows are padded"):
        padded.memoryview()


def test_a_copy_is_aligned_writeable_and_on_its_own():
    array, memory = make([1.0, 2.0], readonly=True)
    copy = array.copy()
    del array
    assert memory() is None
    view = copy.numpy()
    view[0] = 5
    assert copy.tolist() == [5.0, 2.0] and copy._address % 64 == 0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_an_empty_array_is_an_array(shape):
    array, _ = make(numpy.zeros(shape))
    assert array.numpy().shape == shape == numpy.from_dlpack(array).shape == array.copy().shape
    assert array.nbytes == 0 and array.tolist() == numpy.zeros(shape).tolist()


def test_ragged_rows_are_views_of_their_values():
    values, memory = make([1, 2, 3, 4, 5, 6], "uint8")
    offsets, _ = make([0, 2, 2, 6], "int64")
    ragged = Ragged(values, offsets)
    assert len(ragged) == 3 and [row.tolist() for row in ragged] == [[1, 2], [], [3, 4, 5, 6]]
    assert ragged[-1].tolist() == [3, 4, 5, 6] and ragged.bytes_of(0) == b"\1\2" == ragged.bytes_of(-3)
    assert ragged[numpy.int64(2)].tolist() == [3, 4, 5, 6] and ragged.bytes_of(numpy.uint8(2)) == b"\3\4\5\6"
    row = ragged[2]
    del values, ragged
    assert memory() is not None and row.tolist() == [3, 4, 5, 6]


def test_ragged_steps_are_those_of_all_rows():
    values, memory = make(list(range(12)), "int16")
    steps = Ragged(values, make([0, 4, 4, 12], "int64")[0], (2, 2)).steps
    assert steps.shape == (3, 2, 2) and steps.numpy().tolist() == [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], [10, 11]]]
    del values
    assert memory() is not None and steps.tolist()[2] == [[8, 9], [10, 11]]
    numbers, _ = make([1, 2], "int64")
    assert Ragged(numbers, make([0, 2], "int64")[0]).steps.shape == (2,)
    none, _ = make(numpy.zeros(0, numpy.uint8))
    assert Ragged(none, make([0, 0], "int64")[0], (2, 2)).steps.shape == (0, 2, 2)


def test_ragged_bytes_are_text():
    """Rows of bytes are str on request; what is no UTF-8 goes the way back, and what is no bytes is refused."""
    data = "wörd".encode() + b"\xff!" + "猫".encode()
    values, _ = make(list(data), "uint8")
    offsets, _ = make([0, 5, 5, 7, 10], "int64")
    ragged = Ragged(values, offsets)
    assert ragged.text() == ["wörd", "", "\udcff!", "猫"] and ragged.text("replace")[2] == "\ufffd!"
    assert "".join(ragged.text()).encode("utf-8", "surrogateescape") == data
    with pytest.raises(UnicodeDecodeError):
        ragged.text("strict")
    numbers, _ = make([1, 2], "int16")
    for wrong in (Ragged(numbers, make([0, 2], "int64")[0]), Ragged(values, make([0, 10], "int64")[0], (2,))):
        with pytest.raises(TypeError, match="got no bytes; want a field of text"):
            wrong.text()


def test_several_ragged_rows_are_a_list():
    values, _ = make([1, 2, 3, 4, 5, 6], "uint8")
    ragged = Ragged(values, make([0, 1, 3, 3, 6], "int64")[0])
    rows = [[1], [2, 3], [], [4, 5, 6]]
    for several in (slice(None), slice(1, 3), slice(-2, None), slice(None, None, -2), slice(2, 9), slice(3, 1)):
        assert [row.tolist() for row in ragged[several]] == rows[several]


def test_ragged_rows_outside_are_refused():
    values, _ = make([1, 2], "uint8")
    good, _ = make([0, 2], "int64")
    for row in (1, -2, 10**9, -10**30):
        for take in (Ragged(values, good).__getitem__, Ragged(values, good).bytes_of):
            with pytest.raises(IndexError, match=f"row {row} of a ragged field of 1 rows"):
                take(row)
    for row in (0.0, "0", None, [0], slice(0.0, 1)):
        with pytest.raises(TypeError, match="want a whole number; of several rows|slice indices must be integers"):
            Ragged(values, good)[row]
    with pytest.raises(TypeError, match="want a whole number; of several rows"):
        Ragged(values, good).bytes_of(slice(0, 1))
    for wrong in ([0, 3], [2, 0], [-1, 1]):
        offsets, _ = make(wrong, "int64")
        with pytest.raises(IndexError, match="the batch is damaged"):
            Ragged(values, offsets)[0]


def test_dtypes_name_themselves():
    assert [DType(*d).name for d in [(0, 8), (1, 16), (2, 32), (4, 16), (2, 32, 4)]] == \
        ["int8", "uint16", "float32", "bfloat16", "float32x4"]
    assert DType(2, 32) == DType(2, 32) == "float32" and DType(2, 32) != DType(2, 16)
    assert len({DType(*d) for d in itertools.product((0, 1), (8, 8))}) == 2


# ---- torch and jax, where they are installed -------------------------------------------------------


def test_torch_takes_an_array_without_a_copy_and_may_write():
    torch = pytest.importorskip("torch")
    array, memory = make(numpy.arange(6).reshape(2, 3))
    for tensor in (array.torch(), torch.from_dlpack(array)):
        assert tensor.data_ptr() == array._address and tensor.tolist() == [[0, 1, 2], [3, 4, 5]]
    tensor[0, 0] = 9
    assert array.numpy()[0, 0] == 9
    del array
    assert memory() is not None
    del tensor
    _dlpack.sweep()
    assert memory() is None


def test_torch_takes_bfloat16():
    torch = pytest.importorskip("torch")
    memory = Memory(b"\x80\x3f\x00\x40")
    tensor = Array(memory, memory.address, (2,), (2,), DType(4, 16), False).torch()
    assert tensor.dtype == torch.bfloat16 and tensor.tolist() == [1.0, 2.0]


def test_torch_is_warned_of_read_only_memory_once_and_offered_a_copy(monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(spdl.arrays, "_warned", set())
    array, _ = make([1.0, 2.0], readonly=True)
    with pytest.warns(UserWarning, match=r"use torch\(copy=True\)"):
        first = array.torch()
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second, own = array.torch(), array.torch(copy=True)
    assert first.data_ptr() == second.data_ptr() == array._address != own.data_ptr()
    own[0] = 5


def test_torch_errors_survive_the_death_of_a_temporary_tensor():
    """torch frees a temporary while its own TypeError is in flight: a deleter in Python would swallow the error."""
    torch = pytest.importorskip("torch")
    array, memory = make([1.0])
    with pytest.raises(TypeError):
        torch.add(array.torch(), "no tensor")
    del array
    gc.collect()
    _dlpack.sweep()
    assert memory() is None


def test_jax_takes_an_array_without_a_copy():
    jax = pytest.importorskip("jax")
    array, memory = make(numpy.arange(64))
    taken = jax.dlpack.from_dlpack(array)
    assert taken.unsafe_buffer_pointer() == array._address and taken.tolist() == list(range(64))
    del array
    gc.collect()
    assert memory() is not None
    del taken
    gc.collect()
    _dlpack.sweep()
    assert memory() is None


def test_jax_takes_read_only_memory_without_a_copy_and_an_own_one_with():
    """It asks for DLPack without a version, to which such memory is refused."""
    jax = pytest.importorskip("jax")
    array, memory = make(numpy.arange(64), readonly=True)
    with pytest.raises(BufferError, match=r"cannot mark memory read-only .*; jax\(\) and torch\(\) take it"):
        jax.dlpack.from_dlpack(array)
    taken, own = array.jax(), array.jax(copy=True)
    assert taken.unsafe_buffer_pointer() == array._address != own.unsafe_buffer_pointer()
    assert taken.tolist() == own.tolist() == list(range(64))
    del array
    gc.collect()
    assert memory() is not None
    del taken
    gc.collect()
    _dlpack.sweep()
    assert memory() is None and own.tolist() == list(range(64))


def test_jax_is_asked_with_and_without_a_version_of_the_protocol(monkeypatch):
    """Releases of it differ in that; with a version or without, it is given a capsule that it may take."""
    array, _ = make([1.0, 2.0], readonly=True)
    for asked in ({}, {"stream": None}, {"stream": None, "max_version": (1, 0), "dl_device": (1, 0), "copy": None}):
        module = types.ModuleType("jax")
        module.numpy = types.ModuleType("jax.numpy")
        module.dlpack = types.ModuleType("jax.dlpack")
        module.dlpack.from_dlpack = lambda one: (one.__dlpack_device__(), repr(one.__dlpack__(**asked)))
        for name in ("jax", "jax.numpy", "jax.dlpack"):
            monkeypatch.setitem(sys.modules, name, module if name == "jax" else getattr(module, name[4:]))
        device, capsule = array.jax()
        assert device == (1, 0) and '"dltensor"' in capsule
