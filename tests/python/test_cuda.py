"""GPUs: pinned rings, releases that wait for a stream, device memory; against the driver without a GPU of tests/cuda."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import spdl
from conftest import ROOT, check
from spdl import _dlpack, _gpu
from spdl.arrays import _Unmarked


class Stats(ctypes.Structure):  # fake_stats
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("contexts", "streams", "events", "registered", "registered_bytes", "allocated", "host_allocated", "imports",
                 "in_flight", "copies", "pageable", "launches", "host_functions", "waits", "registrations", "read_only")]


class Gpu:
    """The fake driver: a stream, device memory, and a gate that holds the stream up."""

    def __init__(self, path: Path, gate: Path) -> None:
        self.gate = gate
        self.lib = lib = ctypes.CDLL(str(path))
        lib.fake_cuda_stats.restype = ctypes.POINTER(Stats)
        lib.fake_cuda_reset()
        assert lib.cuInit(0) == 0
        self.context = ctypes.c_void_p()
        assert lib.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), 0) == 0
        assert lib.cuCtxSetCurrent(self.context) == 0
        self.cuda_stream, self.memory = ctypes.c_void_p(), ctypes.c_uint64()  # as torch.cuda.Stream names it
        assert lib.cuStreamCreate(ctypes.byref(self.cuda_stream), 1) == 0
        assert lib.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(1 << 20)) == 0

    @property
    def stats(self) -> Stats:
        return self.lib.fake_cuda_stats().contents

    def upload(self, array: spdl.Array) -> None:
        assert self.lib.cuMemcpyHtoDAsync_v2(self.memory, ctypes.c_void_p(array._address), ctypes.c_size_t(array.nbytes),
                                             self.cuda_stream) == 0

    def download(self, nbytes: int) -> bytes:
        to = ctypes.create_string_buffer(nbytes)
        assert self.lib.cuMemcpyDtoHAsync_v2(to, self.memory, ctypes.c_size_t(nbytes), self.cuda_stream) == 0
        assert self.lib.cuStreamSynchronize(self.cuda_stream) == 0
        return to.raw

    def close(self) -> None:
        self.gate.unlink(missing_ok=True)
        assert self.lib.cuStreamSynchronize(self.cuda_stream) == 0
        assert self.lib.cuMemFree_v2(self.memory) == 0 and self.lib.cuStreamDestroy_v2(self.cuda_stream) == 0
        assert self.lib.cuCtxSetCurrent(None) == 0 and self.lib.cuDevicePrimaryCtxRelease_v2(0) == 0
        left = (self.stats.contexts, self.stats.registered, self.stats.host_allocated, self.stats.imports, self.stats.events)
        assert left == (0, 0, 0, 0, 0), "contexts, registrations, pinned memory, imports or events are left"


@pytest.fixture
def gpu(library: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    path = Path(os.environ.get("SPDL_BUILD") or ROOT / "build", "cuda", "libcuda.so.1")
    if not path.exists():
        pytest.fail(f"{path} is missing; run `make fake-cuda`")
    monkeypatch.setenv("SPDL_CUDA_LIBRARY", str(path))
    monkeypatch.setenv("FAKE_CUDA_GATE", str(tmp_path / "gate"))
    gpu = Gpu(path, tmp_path / "gate")
    yield gpu
    gpu.close()


def test_a_pinned_ring_is_copied_without_staging_and_given_back_behind_the_copy(gpu, engine):
    with spdl.attach(engine("--slots", "6").name) as loader:
        info = loader.pin()
        assert info.mode == "read-only" and info.device_name == "Fake GPU 0" and info.nbytes == loader.info.data_bytes
        pageable = gpu.stats.pageable
        for _ in range(20):
            batch = loader.acquire(timeout=30)
            ticket = check(batch)
            array = batch.array("x")
            gpu.upload(array)
            nbytes = array.nbytes
            del array
            batch.release_after(gpu)
            assert batch.ended
            assert gpu.download(nbytes) == ticket.to_bytes(8, "little") * (nbytes // 8)
        assert gpu.stats.pageable == pageable + 20  # the downloads of this test
        assert loader.pin_info.pending <= 1
        loader.unpin()
        assert loader.pin_info.mode is None and gpu.stats.registered == 0


def test_a_batch_in_a_loop_may_end_behind_its_copy(gpu, child):
    with child("--batches", "9", "--slots", "6") as loader:
        loader.pin()
        tickets = []
        for batch in loader:
            tickets.append(check(batch))
            gpu.upload(batch.array("x"))
            batch.release_after(gpu.cuda_stream.value)
        assert tickets == list(range(9))


def test_close_waits_for_the_copies_and_lets_other_threads_run(gpu, engine):
    loader = spdl.attach(engine("--slots", "6").name)
    loader.pin()
    batch = loader.acquire(timeout=30)
    gpu.gate.touch()
    gpu.upload(batch.array("x"))
    batch.release_after(gpu)
    assert loader.pin_info.pending == 1
    opener = threading.Timer(0.05, gpu.gate.unlink)
    opener.start()
    loader.close()
    assert gpu.stats.in_flight == 0 and gpu.stats.registered == 0
    opener.join()


def test_views_that_are_alive_forbid_it_and_change_nothing(gpu, engine):
    with spdl.attach(engine("--slots", "6").name) as loader:
        loader.pin()
        batch = loader.acquire(timeout=30)
        array = batch.array("x")
        with pytest.raises(BufferError, match="views of it are alive"):
            batch.release_after(gpu)
        assert not batch.ended
        del array
        batch.release_after(gpu)
        with pytest.raises(spdl.Stale):
            batch.release_after(gpu)
        with pytest.raises(spdl.Stale):
            batch["x"]


def test_a_handle_that_the_driver_refuses_leaves_the_batch(gpu, engine):
    with spdl.attach(engine("--slots", "6").name) as loader:
        batch = loader.acquire(timeout=30)
        with pytest.raises(spdl.DeviceError, match="CUDA_ERROR_INVALID_HANDLE"):
            batch.release_after(12345)
        with pytest.raises(spdl.ArgumentError, match="str is no stream or event"):
            batch.release_after("stream")
        check(batch)
        batch.release()


class _Stream:
    def __init__(self, **attributes: object) -> None:
        self.__dict__.update(attributes)


class _Protocol:
    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, 77


def test_streams_and_events_of_every_package_have_their_handle():
    assert _gpu.handle_of(None) == (_gpu.AFTER_STREAM, None) and _gpu.handle_of(5) == (_gpu.AFTER_STREAM, 5)
    assert _gpu.handle_of(_Stream(cuda_stream=6)) == (_gpu.AFTER_STREAM, 6)  # torch
    assert _gpu.handle_of(_Stream(cuda_event=7)) == (_gpu.AFTER_EVENT, 7)
    assert _gpu.handle_of(_Stream(ptr=8)) == (_gpu.AFTER_STREAM, 8)  # CuPy
    assert _gpu.handle_of(_Stream(handle=ctypes.c_void_p(9))) == (_gpu.AFTER_STREAM, 9)  # numba
    assert _gpu.handle_of(_Stream(cuda_stream=0)) == (_gpu.AFTER_STREAM, 0)
    assert _gpu.handle_of(_Protocol()) == (_gpu.AFTER_STREAM, 77)
    event = type("Event", (_Stream,), {})
    assert _gpu.handle_of(event(ptr=10)) == (_gpu.AFTER_EVENT, 10)  # CuPy
    assert _gpu.handle_of(type("Mine", (event,), {})(handle=ctypes.c_void_p(11))) == (_gpu.AFTER_EVENT, 11)  # numba, cuda.core
    with pytest.raises(spdl.ArgumentError, match="release_after: File is no stream or event"):
        _gpu.handle_of(type("File", (), {"handle": 12})())


@pytest.mark.parametrize("device", [2**31, 2**32, -1, "x", 1.0])
def test_a_device_to_pin_for_is_an_ordinal(loader, device):
    with pytest.raises(spdl.ArgumentError, match=f"pin: device {device!r}, want an ordinal from 0"):
        loader.pin(device=device)


def test_no_driver_is_unsupported_and_batches_come(python, engine):
    name = engine("--slots", "6").name
    done = python(
        f"""
import spdl
with spdl.attach({name!r}) as loader:
    try:
        loader.pin()
    except spdl.Unsupported as error:
        print(error)
    with loader.acquire(timeout=30) as batch:
        print(len(batch["x"]) > 0, dict(batch.cuda))
""", library=os.environ["SPDL_LIBRARY"], SPDL_CUDA_LIBRARY="/nowhere/libcuda.so.1")
    assert done.returncode == 0, done.stderr
    assert "no CUDA driver: /nowhere/libcuda.so.1" in done.stdout and done.stdout.endswith("True {}\n")


_HOLDER = """
import ctypes, sys, time
sys.path[:0] = sys.argv[2].split(":")
from pathlib import Path
import spdl
from test_cuda import Gpu
gpu = Gpu(Path(sys.argv[3]), Path(sys.argv[4]))
loader = spdl.attach(sys.argv[1], max_leases=2)
loader.pin()
for _ in range(2):
    batch = loader.acquire(timeout=30)
    gpu.upload(batch.array("x"))
    batch.release_after(gpu)
    print(batch.ticket, flush=True)
time.sleep(600)
"""


def test_a_consumer_killed_in_mid_copy_keeps_its_slots_until_it_is_dead(gpu, engine):
    """While its copies run the ring goes round without its slots; after its death nothing is lost and nothing comes twice."""
    ring = engine("--slots", "7", "--batches", "60", "--groups", "train")
    gpu.gate.touch()
    paths = f"{ROOT / 'tests' / 'python'}:{ROOT / 'clients' / 'python'}"
    holder = subprocess.Popen([sys.executable, "-c", _HOLDER, ring.name, paths, gpu.lib._name, str(gpu.gate)],
                              stdout=subprocess.PIPE, text=True)
    try:
        held = [int(holder.stdout.readline()), int(holder.stdout.readline())]
        tickets = []
        with spdl.attach(ring.name, max_leases=1) as loader:
            for batch in loader:
                tickets.append(check(batch))
                if len(tickets) == 40:
                    holder.send_signal(signal.SIGKILL)
                    holder.wait(30)
        assert sorted(held + tickets) == list(range(60)), "what was handed to the GPU counts as used"
    finally:
        holder.kill()
        holder.wait(30)
        holder.stdout.close()
        gpu.gate.unlink(missing_ok=True)


class Uploader:
    """tests/cuda/uploader.c: a ring whose images are on the device, too."""

    def __init__(self, program: Path) -> None:
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.path = self.process.stdout.readline().strip()
        assert self.path, "the uploader did not start"

    def say(self, command: str) -> None:
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "ok\n"

    def close(self) -> None:
        self.process.communicate("q\n", timeout=60)
        assert self.process.returncode == 0


@pytest.fixture
def uploader(gpu):
    one = Uploader(Path(os.environ.get("SPDL_BUILD") or ROOT / "build", "cuda", "uploader"))
    yield one
    one.close()


def let_go() -> None:
    """Of capsules that nobody took, and of views in the tracebacks of expected errors."""
    gc.collect()
    _dlpack.sweep()


def content(array: spdl.Array) -> bytes:
    """What the fake's device memory, which is memory, holds."""
    return ctypes.string_at(array._address, array.nbytes)


def test_device_fields_lie_beside_the_hosts(gpu, uploader):
    with spdl.attach(uploader.path) as loader:
        assert [field.name for field in loader.fields] == ["image", "index", "key", "status"]
        for _ in range(20):
            uploader.say("p")
            batch = loader.acquire(timeout=30)
            assert list(batch.cuda) == ["image"] and set(batch) == {"image", "index", "key", "status"}
            image = batch.cuda["image"]
            assert image.__dlpack_device__() == (2, 0) and image.shape == batch.array("image").shape
            image._wait(gpu.cuda_stream.value)
            assert gpu.lib.cuStreamSynchronize(gpu.cuda_stream) == 0
            assert content(image) == batch.array("image").memoryview().tobytes()
            with pytest.raises(spdl.Unsupported, match="device"):
                image.numpy()
            with pytest.raises(spdl.NotFound, match='did you mean "image"'):
                batch.cuda["imgae"]
            del image
            batch.release_after(gpu)
        assert loader.pin_info.imports == 1


def test_the_interfaces_of_cuda_arrays_have_the_stream_that_waits(gpu, uploader):
    with spdl.attach(uploader.path) as loader:
        uploader.say("p")
        batch = loader.acquire(timeout=30)
        image, host = batch.cuda["image"], batch.array("image")
        waits = gpu.stats.waits
        said = image.__cuda_array_interface__
        assert said == {"version": 3, "shape": image.shape, "typestr": "|u1", "strides": None,
                        "data": (image._address, True), "stream": 1}
        assert not hasattr(host, "__cuda_array_interface__")
        assert gpu.stats.waits == waits + 1
        for stream in (None, 1, gpu.cuda_stream.value):
            image.__dlpack__(stream=stream, max_version=(1, 0))
        assert gpu.stats.waits == waits + 4
        image.__dlpack__(stream=-1, max_version=(1, 0))  # the reader sees to it itself
        assert gpu.stats.waits == waits + 4
        for stream in (None, 1, gpu.cuda_stream.value, -1):
            _Unmarked(image).__dlpack__(stream=stream)  # what jax() hands over, on a ring of shared access, too
        assert gpu.stats.waits == waits + 7
        with pytest.raises(spdl.ArgumentError, match="stream 0"):
            image.__dlpack__(stream=0, max_version=(1, 0))
        with pytest.raises(BufferError, match="read-only"):
            image.__dlpack__(stream=None)
        with pytest.raises(spdl.Unsupported, match="copy of"):
            image.copy()
        del image, host
        let_go()
        batch.release()


def test_a_dead_uploader_is_pool_lost_and_the_host_fields_stay(gpu, uploader):
    with spdl.attach(uploader.path) as loader:
        uploader.say("p")
        batch = loader.acquire(timeout=30)
        image = batch.cuda["image"]
        uploader.say("v")
        with pytest.raises(spdl.PoolLost, match="died"):
            batch.cuda["image"]
        with pytest.raises(spdl.PoolLost):
            image.__dlpack__(max_version=(1, 0))
        assert len(batch["index"]) == 4
        del image
        let_go()
        batch.release()
        assert loader.pin_info.imports == 0


def test_device_fields_are_apart_from_the_others(mock, loader):
    with loader.acquire() as batch:
        assert len(batch.cuda) == 0 and list(batch.cuda) == []
        with pytest.raises(spdl.NotFound, match="the engine uploads none; add the key `device`"):
            batch.cuda["image"]


@pytest.mark.parametrize(
    ("header", "test", "ours", "number"),
    [
        ("cuda.h", "declarations.cpp", "capi/cuda/driver.h", "CU_E_NOT_READY = 600"),
        ("nvjpeg.h", "jpeg_declarations.cpp", "core/device/cuda/nvjpeg_calls.h", "NVJPEG_E_INCOMPLETE = 10"),
    ],
)
def test_the_declarations_are_those_of_nvidias_header(header, test, ours, number, tmp_path):
    """Parameters and numbers of each call, compared by a compiler; `pip install nvidia-cuda-runtime nvidia-nvjpeg` has these headers, too."""
    places = [os.environ.get("SPDL_CUDA_INCLUDE", ""), "/usr/local/cuda/include"]
    include = next((place for place in places if place and (Path(place) / header).is_file()), None)
    if include is None:
        pytest.skip(f"no {header} in $SPDL_CUDA_INCLUDE or /usr/local/cuda/include")

    def compiled(declarations):
        command = ["c++", "-std=c++17", "-fsyntax-only", "-I", include, "-I", str(declarations), str(ROOT / "tests/cuda" / test)]
        return subprocess.run(command, capture_output=True, text=True)

    ours = ROOT / ours
    done = compiled(ours.parent)
    assert done.returncode == 0, done.stderr
    (tmp_path / ours.name).write_text(ours.read_text().replace(number, number + "1"))
    assert number.split()[0] in compiled(tmp_path).stderr, "a wrong number is found"
