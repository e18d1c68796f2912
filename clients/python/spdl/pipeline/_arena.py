"""Objects from one process to another: small parts pickled, arrays and bytes through shared memory.

The sender writes the buffers of one object into one block of a memory file and sends the block's place; the receiver
builds the object as views of that block, without a copy, and names the block as free when the last view is gone.
Blocks are reused, so their pages stay warm; a block is never split, so each is mapped once.
"""

from __future__ import annotations

import collections
import ctypes
import io
import mmap
import os
import pickle
import sys
import weakref
from typing import Any, NamedTuple, Optional, Sequence

BUDGET = 1 << 30  # bytes of shared memory in flight, unless told otherwise; an object beyond it travels pickled
_ALIGN = 64
_SMALL = 4096  # bytes; below, a buffer is cheaper inside the pickle
_PAGE = mmap.PAGESIZE


class SharedMemoryRingBuffer:
    """How much shared memory an iterate_in_subprocess may hold: `capacity` bytes."""

    def __init__(self, capacity: int, *, acquire_timeout: float = 60.0) -> None:
        if capacity < 1:
            raise ValueError(f"spdl: pipeline: SharedMemoryRingBuffer: capacity {capacity}, want 1 byte or more")
        self.capacity = capacity
        self.budget = capacity


class SharedMemorySegmentPool:
    """How much shared memory an iterate_in_subprocess may hold: `count` objects of up to `segment_size` bytes.

    Blocks fit the objects whatever their size; what counts is the product. When it is used up, since the consumer
    holds that many, further objects travel pickled instead of waiting (acquire_timeout has no effect).
    """

    def __init__(self, segment_size: int, count: int, *, acquire_timeout: float = 60.0) -> None:
        if segment_size < 1 or count < 1:
            raise ValueError(f"spdl: pipeline: SharedMemorySegmentPool: segment_size {segment_size}, count {count}, "
                             "want 1 or more of each")
        self.segment_size = segment_size
        self.count = count
        self.budget = segment_size * count


class SharedFile:
    """A memory file that can be handed to a child process of any start method."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("spdl-arena", os.MFD_CLOEXEC)

    def __getstate__(self) -> Any:
        from multiprocessing import reduction

        return reduction.DupFd(self.fd)

    def __setstate__(self, duplicate: Any) -> None:
        self.fd = duplicate.detach()

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Packed(NamedTuple):
    """An object on its way: its pickle, and the block with its buffers (offset -1: none)."""

    body: bytes
    offset: int
    size: int
    spans: list[tuple[int, int]]  # of the buffers in the block: first those the pickle asks for in order,
    n_ordered: int  # so many; then those it asks for by number


class Sender:
    """The writing side of an arena."""

    def __init__(self, file: SharedFile, budget: int) -> None:
        self._file = file
        self._budget = budget
        self._end = 0
        self._sizes: dict[int, int] = {}  # of all blocks, by offset
        self._free: dict[int, list[int]] = collections.defaultdict(list)  # offsets, by size

    def pack(self, value: Any) -> Packed:
        """Write the value's buffers into a block, where there is room for one."""
        out = io.BytesIO()
        pickler = _Pickler(out)
        pickler.dump(value)
        buffers = [buffer.raw() for buffer in (*pickler.buffers, *pickler.held)]
        spans, need = [], 0
        for buffer in buffers:
            spans.append((need, buffer.nbytes))
            need += -(-buffer.nbytes // _ALIGN) * _ALIGN
        if not buffers:
            return Packed(out.getvalue(), -1, 0, [], 0)
        offset = self._claim(need)
        if offset is None or not self._write(offset, spans, buffers):
            return Packed(pickle.dumps(value, 5), -1, 0, [], 0)
        return Packed(out.getvalue(), offset, self._sizes[offset], spans, len(pickler.buffers))

    def _claim(self, need: int) -> Optional[int]:
        """A free block of at least need bytes; None beyond the budget."""
        size = max(_PAGE, 1 << (need - 1).bit_length())
        if size - size // 4 >= need:
            size -= size // 4  # sizes of 3/4 and 4/4 of a power of two: at most a third is wasted
        size = -(-size // _PAGE) * _PAGE
        if self._free[size]:
            return self._free[size].pop()
        if self._end + size > self._budget:
            return self._claim_larger(size)
        offset, self._end = self._end, self._end + size
        self._sizes[offset] = size
        return offset

    def _claim_larger(self, size: int) -> Optional[int]:
        for larger in sorted(self._free):
            if larger > size and self._free[larger]:
                return self._free[larger].pop()
        return None

    def _write(self, offset: int, spans: Sequence[tuple[int, int]], buffers: Sequence[memoryview]) -> bool:
        """Written, not stored through a mapping: a full memory is an error here, not a SIGBUS."""
        try:
            for (start, _), buffer in zip(spans, buffers):
                _write_all(self._file.fd, buffer.cast("B") if buffer.nbytes else buffer, offset + start)
            end = offset + self._sizes[offset]
            if os.fstat(self._file.fd).st_size < end:
                os.ftruncate(self._file.fd, end)
        except OSError:
            self._free[self._sizes[offset]].append(offset)
            return False
        return True

    def freed(self, offsets: Sequence[int]) -> None:
        """The receiver has let go of these blocks."""
        for offset in offsets:
            self._free[self._sizes[offset]].append(offset)


def _write_all(fd: int, view: memoryview, offset: int) -> None:
    while view.nbytes:
        count = os.pwrite(fd, view, offset)
        view, offset = view[count:], offset + count


class Receiver:
    """The reading side of an arena."""

    def __init__(self, file: SharedFile) -> None:
        self._file = file
        self._maps: dict[int, mmap.mmap] = {}
        self._released: collections.deque[int] = collections.deque()

    def unpack(self, packed: Packed) -> Any:
        """The object; its arrays are writeable views of the block, which nobody else writes until they are gone."""
        body, offset, size, spans, n_ordered = packed
        if offset < 0:
            return pickle.loads(body)
        block = self._maps.get(offset)
        if block is None:
            block = self._maps[offset] = mmap.mmap(self._file.fd, size, offset=offset)
        lease = (ctypes.c_char * size).from_buffer(block)
        weakref.finalize(lease, self._released.append, offset).atexit = False
        whole = memoryview(lease).cast("B")
        views = [whole[start:start + count] for start, count in spans]
        return _Unpickler(body, views[:n_ordered], views[n_ordered:]).load()

    def discard(self, offset: int) -> None:
        """A block whose object nobody wants."""
        if offset >= 0:
            self._released.append(offset)

    def released(self) -> list[int]:
        """Blocks that came free since the last call."""
        offsets = []
        while self._released:
            offsets.append(self._released.popleft())
        return offsets


# ---- pickling ----------------------------------------------------------------------------------


class _Pickler(pickle.Pickler):
    """Keeps large buffers out of the pickle: those of arrays, bytes, and torch tensors."""

    def __init__(self, out: io.BytesIO) -> None:
        self.buffers: list[pickle.PickleBuffer] = []
        self.held: list[pickle.PickleBuffer] = []
        super().__init__(out, 5, buffer_callback=self._take)
        self._torch = sys.modules.get("torch")

    def _take(self, buffer: pickle.PickleBuffer) -> bool:
        """Whether the buffer stays in the pickle."""
        if buffer.raw().nbytes < _SMALL:
            return True
        self.buffers.append(buffer)
        return False

    def persistent_id(self, value: Any) -> Any:
        kind = type(value)
        if kind in (bytes, bytearray, memoryview) and memoryview(value).nbytes >= _SMALL:
            if kind is memoryview and not value.contiguous:
                value = bytes(value)
            self.held.append(pickle.PickleBuffer(value))
            return kind.__name__, len(self.held) - 1
        if self._torch is not None and isinstance(value, self._torch.Tensor):
            return self._tensor(value)
        return None

    def _tensor(self, tensor: Any) -> Any:
        torch: Any = self._torch
        if tensor.layout is not torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
            return None
        flat = tensor.detach().cpu().contiguous()
        data = flat.reshape(-1).view(torch.uint8) if flat.numel() else flat
        self.held.append(pickle.PickleBuffer(data.numpy()))
        return "torch", len(self.held) - 1, str(tensor.dtype).split(".")[1], tuple(tensor.shape)


class _Unpickler(pickle.Unpickler):
    """Puts the buffers back."""

    def __init__(self, body: bytes, ordered: Sequence[memoryview], held: Sequence[memoryview]) -> None:
        super().__init__(io.BytesIO(body), buffers=ordered)
        self._held = held

    def persistent_load(self, pid: Any) -> Any:
        kind, place = pid[:2]
        view = self._held[place]
        if kind == "torch":
            import torch

            dtype = getattr(torch, pid[2])
            if not view.nbytes:
                return torch.empty(pid[3], dtype=dtype)
            return torch.frombuffer(view, dtype=dtype).reshape(pid[3])
        if kind == "bytes":
            return bytes(view)
        return bytearray(view) if kind == "bytearray" else view
