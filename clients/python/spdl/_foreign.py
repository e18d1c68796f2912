"""What calls are told that is not theirs: torch's arguments, and keys of the description."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any, Callable, Optional, TypeVar, cast

from ._spelling import nearest

_F = TypeVar("_F", bound=Callable[..., Any])

# What torch's DataLoader is told and an engine is not, and what does it here. {loader} is the spdl.Loader.
TORCH = {
    "batch_size": "say batch=N, or batch: N in the description",
    "batch_sampler": "say batch: N and order: {...} in the description; by length order: {buckets: {by: COLUMN, max_total: N}}",
    "dataset": "it comes as source=, behind a description: spdl.DataLoader(spec, source=dataset)",
    "collate_fn": "batches come collated; spdl.DataLoader's transform= maps a whole one",
    "drop_last": "say order: {last: drop} in the description",
    "generator": "say order: {seed: N} in the description",
    "in_order": "leave it out: batches come in order; ring: {delivery: ready} in the description lets them pass each other",
    "multiprocessing_context": "leave it out: the engine is a program of its own",
    "num_workers": 'leave it out: the engine has threads; args=["--cpus", "8"] bounds them',
    "persistent_workers": "leave it out: the engine stays from epoch to epoch",
    "pin_memory": "call {loader}.pin() (docs/gpu.md)",
    "pin_memory_device": "call {loader}.pin(device=N) (docs/gpu.md)",
    "prefetch_factor": "say ring: {slots: N} in the description",
    "sampler": "say order: {...} in the description",
    "shuffle": "say shuffle=True or False, or order: {shuffle: true, seed: N} in the description",
    "worker_init_fn": "leave it out: there are no workers",
}

# Keys of the description that one may take for arguments, and the flag of `spdl serve` that says the same of a folder.
_KEYS = {
    "slots": ("ring: {slots: N}", "--slots"), "cpus": ("limits: {cpus: N}", "--cpus"), "folder": ("source: {folder: DIR}", ""),
    "shards": ("source: {shards: DIR/*.tar}", ""), "list": ("source: {list: FILE}", ""),
    **{key: (f"{key}: {{...}}", "") for key in ("image", "video", "audio", "order", "ring", "world", "device", "cache", "limits", "bad_sample")},
}


# Arguments of spdl.DataLoader that other calls have not.
_LOADERS = {
    "fields": "a batch has all of its fields by their names",
    "transform": "of pictures say image: {transform: [...]} in the description",
    "tensors": 'batch["image"] is a numpy view, batch.array("image").torch() a tensor',
    "copy": 'batch.copy() and batch.array("image").torch(copy=True) are copies',
    "restart": "call {loader}.restart()",
}


def torchs(name: str, loader: str) -> str:
    """What does here what torch's argument of that name does there."""
    return TORCH[name].replace("{loader}", loader)


def refusal(call: str, name: str, takes: Sequence[str], remedy: str, loader: str = "loader") -> TypeError:
    """That a call which opens a ring, such as spdl.open, does not take the argument of that name, and what does it."""
    if name in _KEYS:
        key, flag = _KEYS[name]
        short = f', or of a folder args=["{flag}", "..."]' if flag else ""
        return TypeError(f"spdl: {call}: {name} is the description's; say {key} there{short}")
    if name in _LOADERS:
        return TypeError(f"spdl: {call}: {name} is spdl.DataLoader's; {_LOADERS[name].replace('{loader}', loader)}")
    near = nearest(name, [*takes, *TORCH])
    torch = name if name in TORCH else near if near in TORCH else None
    if torch is not None:
        return TypeError(f"spdl: {call}: {name} is torch's{'' if name == torch else f' {torch}'}; {torchs(torch, loader)}")
    return unexpected(call, name, takes, remedy)


def unexpected(call: str, name: str, takes: Sequence[str], remedy: str) -> TypeError:
    """That a call does not take the argument of that name, and which one was meant, or else the remedy."""
    near = nearest(name, takes)
    return TypeError(f"spdl: {call}: got an unexpected argument {name}; {f'did you mean {near}?' if near else remedy}")


def own_arguments(call: str, refused: Optional[Callable[[str, Sequence[str]], TypeError]] = None, remedy: str = "") -> Callable[[_F], _F]:
    """Have a function or a method answer arguments that it does not take: by their names with what `refused` makes of the name and of those that
    there are (by itself the nearest of them, else the remedy, else all), by their places with those."""

    def around(function: _F) -> _F:
        parameters = inspect.signature(function).parameters
        bound = int("self" in parameters)
        names = list(parameters)[bound:]
        takes = [name for name in names[1 - bound:] if parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY]
        placed = [name for name in names if parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY]
        rest = names[len(placed):]
        want = f"the others by their names: {', '.join(rest)}" if rest else "no more" if placed else f"nothing; {remedy}"

        @functools.wraps(function)
        def answered(*given: Any, **named: Any) -> Any:
            for name in named:
                if name not in parameters:
                    raise refused(name, takes) if refused else unexpected(call, name, takes, remedy or f"want {', '.join(takes)}")
            more = given[bound + len(placed):]
            if more:
                behind = f" behind {', '.join(placed)}" if placed else ""
                raise TypeError(f"spdl: {call}: got {', '.join(f'{one!r:.40}' for one in more)}{behind}, want {want}")
            return function(*given, **named)

        return cast(_F, answered)

    return around
