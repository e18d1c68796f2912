"""What a batch has of a picture that an image processor of transformers' has made, by the names that its models take."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

KEY = "pixel_values"  # what their models call pictures


class Prepared(NamedTuple):
    """How the field of a picture, and what is known of it, become what the processor returns: of a batch, or of a row of one."""

    names: tuple[str, ...] = (KEY,)
    known: tuple[str, ...] = ()  # the fields beside the picture's that they are made of
    outputs: Callable[..., tuple[Any, ...]] = lambda *fields: fields
    shape: str = ""  # how rows of tiles lie in a batch that nobody collates
    together: bool = False  # whether a batch has the tiles or patches of all rows in one, not row by row

    def made(self, fields: list[Any]) -> Any:
        """What the processor returns, or, where that is the picture alone, that."""
        made = dict(zip(self.names, self.outputs(*fields)))
        return made if len(made) > 1 else made[self.names[0]]


def _library(of: Any) -> Any:
    """torch or NumPy, of which a tensor is; both have the same functions here."""
    return sys.modules[type(of).__module__.partition(".")[0]]


def _first(count: Any, room: int, dtype: str) -> Any:
    """1 for as many of a row's places as there are, 0 behind."""
    library = _library(count)
    there = library.arange(room) < count[..., None]
    return there.astype(dtype) if hasattr(there, "astype") else there.to(getattr(library, dtype))


def _siglip2(patches: Any, count: Any, grid: Any) -> tuple[Any, ...]:
    return patches, _first(count, patches.shape[-2], "int32"), grid[..., 1:]


def _masked(pixels: Any, extent: Any) -> tuple[Any, ...]:
    """1 where a picture is, of a batch that is as large as its largest."""
    library = _library(extent)
    height, width = pixels.shape[-2:]
    inside = (library.arange(height) < extent[..., :1])[..., None] & (library.arange(width) < extent[..., 1:])[..., None, :]
    return pixels, _whole(inside)


def _all(pixels: Any) -> tuple[Any, ...]:
    return pixels, _library(pixels).ones((*pixels.shape[:-3], *pixels.shape[-2:]), dtype=_library(pixels).int64)


def _classes(maps: Any) -> tuple[Any, ...]:
    return (_whole(maps[..., 0, :, :]),)


def _whole(numbers: Any) -> Any:
    return numbers.long() if hasattr(numbers, "long") else numbers.astype("int64")


def _onevision(tiles: Any, size: Any) -> tuple[Any, ...]:
    library = _library(size)
    return tiles, size, library.ones_like(size[..., 0])


def mllama(most: int) -> Prepared:
    """A row is a sample of one picture; grids have their numbers, from 1, among those of so many tiles at most."""
    grids = [(rows, columns) for rows in range(1, most + 1) for columns in range(1, most // rows + 1)]
    numbers = [[grids.index((rows, columns)) + 1 if (rows, columns) in grids else 0 for columns in range(most + 1)] for rows in range(most + 1)]

    def outputs(tiles: Any, count: Any, grid: Any) -> tuple[Any, ...]:
        library = _library(grid)
        ids = (library.as_tensor if hasattr(library, "as_tensor") else library.asarray)(numbers)[grid[..., 0], grid[..., 1]]
        return tiles[..., None, :, :, :, :], ids[..., None], _first(count, most, "int64")[..., None, :], count[..., None].tolist()

    return Prepared((KEY, "aspect_ratio_ids", "aspect_ratio_mask", "num_tiles"), ("count", "grid"), outputs, "fixed")


def _idefics3(tiles: Any, count: Any) -> tuple[Any, ...]:
    library = _library(count)
    mask = _first(count, tiles.shape[-4], "int64")[..., None, None]
    shape = (*mask.shape[:-2], *tiles.shape[-2:])
    return tiles, library.broadcast_to(mask, shape)


PLAIN = Prepared()
MAPS = Prepared(("labels",), (), _classes)
DETR = Prepared((KEY, "pixel_mask"), ("extent",), _masked)
YOLOS = Prepared((KEY,), ("extent",), lambda pixels, _: (pixels,))
DETR_OF_ONE_SIZE = Prepared((KEY, "pixel_mask"), (), _all)
QWEN2_VL = Prepared((KEY, "image_grid_thw"), ("grid",), together=True)
SIGLIP2 = Prepared((KEY, "pixel_attention_mask", "spatial_shapes"), ("count", "grid"), _siglip2)
INTERNVL = Prepared((KEY, "num_patches"), ("count",), shape="ragged", together=True)
LLAVA_NEXT = Prepared((KEY, "image_sizes"), ("size",), shape="padded")
LLAVA_ONEVISION = Prepared((KEY, "image_sizes", "batch_num_images"), ("size",), _onevision, "padded")
IDEFICS3 = Prepared((KEY, "pixel_attention_mask"), ("count",), _idefics3, "padded")
