"""What readers of functions of one's own share of sounds and videos: what names stand for, and what is asked of each other."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, Optional

from . import films, sounds, spectra, texts
from .annotated import Unknown
from .counts import Behind, Count, Drawn, Fact, Rate
from .levels import Measured
from .openers import Decoded, Decoder
from .sounds import Cannot, Seconds, Sound
from .texts import NOTHING


class Unheard(Unknown):
    """Of what is done to a sound."""


class Shape(NamedTuple):
    """The sizes of a sound's axes."""

    of: Sound


class Extra(NamedTuple):
    """What a function that opens a sound returns beside it: an expression."""

    node: ast.expr


class Others(NamedTuple):
    """What a tuple with a sound has behind what is known of it: an expression of a tuple."""

    node: ast.expr


class Info(NamedTuple):
    """What torchaudio.info or soundfile.info says of a file: of its sound, as it is there."""

    sound: Sound


class Complex(NamedTuple):
    """What librosa.stft makes of a sound, which magnitudes alone are taken of."""

    sound: Sound  # its magnitudes


LIBRARIES = (*sounds.LIBRARIES, "decord", "av")  # whose functions are told by their names
_KINDS = (Sound, Measured, Shape, Rate, Count, Drawn, Behind, Decoder, Decoded, Info, Complex, spectra.Maker, Extra, Others, *films.KINDS)
WANT = "want what is done to a sound to be a mean of channels, torchaudio's or librosa's resampling, a crop from the beginning or one that is drawn, zeros behind, and their spectra (docs/own-datasets.md#sounds)"


def is_heard(one: Any) -> bool:
    """Whether it is a sound, or something of one."""
    return isinstance(one, _KINDS) or type(one) is tuple and any(map(is_heard, one))


def has_sound(one: Any) -> bool:
    """Whether there is a sound in it, of which a batch can be made."""
    return isinstance(one, Sound) or type(one) is tuple and any(map(has_sound, one))


def frames(one: Any) -> Any:
    """A length that a rate says: sr * 1."""
    return (Seconds(one.times, one.file) if one.known is None else one.known) if isinstance(one, Rate) else one


class Heard(texts.Reader):
    """Of a reader of statements, what has to do with sounds and videos."""

    _names: dict[str, Any]
    _last: Optional[ast.Return]
    _constants: dict[str, Any]  # names that have a known number
    _facts: list[Fact]  # that hold where a branch is read
    _heard_calls: dict[int, Any]  # what calls have opened and drawn, within a statement

    def _known(self, node: ast.expr) -> Any:
        raise NotImplementedError

    def _holds(self, test: ast.expr) -> bool:
        raise NotImplementedError

    def _mentions(self, node: ast.AST) -> bool:
        raise NotImplementedError

    def _is(self, node: ast.expr, module: str, *names: str) -> bool:
        raise NotImplementedError

    def _steps(self, steps: Sequence[ast.stmt]) -> list[ast.stmt]:
        raise NotImplementedError

    def _through(self, node: ast.Call, function: Any, made: Any) -> Any:
        raise NotImplementedError

    def _heard_opened(self, node: ast.Call) -> Any:
        """What a call opens; NOTHING: it opens no sound."""
        return NOTHING

    def _heard_inner(self, node: ast.expr) -> Any:
        """What a sample of another data set has of sounds; NOTHING: it is something else."""
        return NOTHING

    def _tell(self, node: ast.expr, seconds: bool = False) -> Any:
        """A number that code says for each sample, of an expression that looks at no sound; NOTHING: it does, or nobody knows what its names are there."""
        return NOTHING

    def _filmed(self, shown: films.Shown) -> Any:
        """The tensor of a video's frames, which goes on as a picture does."""
        raise NotImplementedError

    def _framed(self, taken: films.Taken, array: bool) -> Any:
        """Frames in an array or a tensor, as a reader hands them out."""
        raise NotImplementedError

    def _opened_by(self, step: ast.stmt) -> list[ast.stmt]:
        raise NotImplementedError

    def _rated(self, one: Rate) -> ast.expr:
        """The rate of a file, where the code that is left has it."""
        raise NotImplementedError

    def _not_so(self, node: ast.AST, error: Cannot) -> NoReturn:
        self._refuse_sound(node, f"{error}")

    def _refuse_sound(self, node: ast.AST, want: str = "") -> NoReturn:
        raise NotImplementedError

    def _heard(self, node: ast.expr) -> Any:
        """What an expression is of sounds and videos; NOTHING: it is of none."""
        raise NotImplementedError

    def _number(self, node: ast.expr) -> Any:
        """A number, of a sound or known; NOTHING: it is none."""
        raise NotImplementedError

    def _sized(self, node: ast.expr) -> Any:
        """A length: a number of samples, or of seconds."""
        raise NotImplementedError
