"""spdl: batches of decoded pictures, videos and sounds from shared memory, without a copy.

    import spdl

    with spdl.open("imagenet.yaml") as loader:       # or a folder, or a dict; or spdl.attach("imagenet")
        for batch in loader:                         # one epoch
            train(batch["image"], batch["label"])    # numpy views; batch.array("image").torch() for torch

An engine in another process reads, decodes and batches; this package is ctypes over libspdl. Importing it imports
neither numpy nor torch. docs/migrate-from-dataloader.md walks through replacing a torch DataLoader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._c import (
    BATCH_BAD,
    BATCH_KEY_CUT,
    BATCH_LAST,
    BATCH_PADDED,
    BATCH_SHORT,
    ROW_MASKED,
    ROW_OK,
    ROW_PADDED,
    ROW_SUBSTITUTED,
)
from ._dataloader import DataLoader
from ._errors import (
    ArgumentError,
    Busy,
    Denied,
    Detached,
    DeviceError,
    EngineFailed,
    EngineLost,
    EngineStartError,
    EngineStopped,
    Forked,
    FormatError,
    GroupClosed,
    LeasesExhausted,
    LibraryNotFound,
    NotFound,
    OutOfMemory,
    PipelineFailed,
    PoolLost,
    SampleError,
    SpdlError,
    SpecError,
    StageMisuse,
    Stale,
    StateError,
    SystemCallError,
    Timeout,
    Undone,
    Unsupported,
    VersionMismatch,
)
from ._listing import offered
from ._spelling import no_attribute
from ._start import attach, open
from ._torch.arguments import describe
from .arrays import Array, DType, Ragged
from .batch import Batch
from .delivery import DeliveryLog, delivery_log
from .loader import Epoch, Info, Loader
from .schema import Field

__version__ = "0.1.0"

_MODULES = ("dataloader", "io", "pipeline", "source")  # imported when they are first named


if TYPE_CHECKING:
    from . import dataloader as dataloader
    from . import io as io
    from . import pipeline as pipeline
    from . import source as source
else:
    def __getattr__(name: str) -> object:
        import importlib

        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        remedy = ""
        if not name.startswith("_"):
            for module in _MODULES:
                if name in importlib.import_module(f".{module}", __name__).__all__:
                    remedy = f"it is {__name__}.{module}.{name}"
        raise no_attribute(__name__, name, [*__all__, *_MODULES], remedy)


__all__ = [
    "__version__", "ArgumentError", "Array", "attach", "Batch", "BATCH_BAD", "BATCH_KEY_CUT", "BATCH_LAST",
    "BATCH_PADDED", "BATCH_SHORT", "Busy", "DataLoader", "delivery_log", "DeliveryLog", "Denied", "describe", "Detached", "DeviceError", "DType", "EngineFailed",
    "EngineLost", "EngineStartError", "EngineStopped", "Epoch", "Field", "Forked", "FormatError",
    "GroupClosed", "Info", "LeasesExhausted", "LibraryNotFound", "Loader", "NotFound", "open",
    "OutOfMemory", "PipelineFailed", "PoolLost", "Ragged", "ROW_MASKED", "ROW_OK", "ROW_PADDED", "ROW_SUBSTITUTED", "SampleError", "SpdlError",
    "SpecError", "StageMisuse", "Stale", "StateError", "SystemCallError", "Timeout", "Undone", "Unsupported",
    "VersionMismatch",
]

__dir__ = offered(globals(), *_MODULES)
