"""Classes of one's own in the place of a description whose samples would be rows and windows of arrays, and what of them is refused. tests/exact/test_own_rows.py holds what is taken against torch's DataLoader."""

from __future__ import annotations

import random
from typing import Any

import pytest
import spdl

np = pytest.importorskip("numpy")
LIMIT = 3
X, T = np.arange(80, dtype="f4").reshape(20, 4), np.arange(200)
Torchs: Any = type("Dataset", (), {"__module__": "torch.utils.data.dataset"})


class Twenty(Torchs):
    def __init__(self, x: Any = None, y: Any = None) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return 20


class Plain(Twenty):
    def __getitem__(self, i):
        return self.x[i]


class Windows(Twenty):
    def __getitem__(self, i):
        return self.x[i:i + 8]


class Ahead(Twenty):
    def __getitem__(self, i):
        return self.x[i - 1]


class Random(Twenty):
    def __getitem__(self, i):
        return self.x[np.random.randint(0, 20)]


class RandomOfPythons(Twenty):
    def __getitem__(self, i):
        return self.x[random.randint(0, 19)]


class Odd(Twenty):
    def __getitem__(self, i):
        if i % 2:
            return -self.x[i]
        return self.x[i]


class Positive(Twenty):
    def __getitem__(self, i):
        return self.x[i] if self.y[i] > 0 else self.x[0]


class Late(Twenty):
    def __getitem__(self, i):
        if i < LIMIT:
            return self.x[i]
        return self.x[0]


class InPlace(Twenty):
    def __getitem__(self, i):
        x = self.x[i]
        x /= 2
        return x


class InPlaceOfTwo(Twenty):
    def __getitem__(self, i):
        x = self.x[i].astype("f4")
        y = x[1:]
        x += 1
        return x, y


class InPlaceOfAnother(Twenty):
    def __getitem__(self, i):
        x = self.x[i].copy()
        same = x
        x -= x
        return same


class InPlaceOfMember(Twenty):
    def __getitem__(self, i):
        sample = {"x": self.x[i].copy()}
        x = sample["x"]
        x /= 2
        return sample


class Stored(Twenty):
    def __getitem__(self, i):
        self.last = i
        return self.x[i]


class Written(Twenty):
    def __getitem__(self, i):
        x = self.x[i].copy()
        x[0] = 1
        return x


class Mean(Twenty):
    def __getitem__(self, i):
        return self.x[i] - self.x[i].mean()


class Product(Twenty):
    def __getitem__(self, i):
        return self.x[i] @ self.y


class Log(Twenty):
    def __getitem__(self, i):
        return np.log(self.x[i])


class Text(Twenty):
    def __getitem__(self, i):
        return {"x": self.x[i], "name": "a"}


class Numbers(Twenty):
    def __getitem__(self, i):
        return self.x[i], [1, None]


class OfList(Twenty):
    def __getitem__(self, i):
        return self.y[i]


class Empty(Twenty):
    def __getitem__(self, i):
        return self.x[i * 2:i * 2]


class Uneven(Twenty):
    def __getitem__(self, i):
        return self.x[i:2 * i + 1]


class Stepped(Twenty):
    def __getitem__(self, i):
        return self.x[i:i + 4:2]


class Open(Twenty):
    def __getitem__(self, i):
        return self.x[i:]


class ByFloats(Twenty):
    def __getitem__(self, i):
        return self.x[self.y[i]]


class Until(Twenty):
    def __getitem__(self, i):
        while i > 3:
            i -= 1
        return self.x[i]


class Tried(Twenty):
    def __getitem__(self, i):
        try:
            return self.x[i]
        except IndexError:
            return self.x[0]


class Files(Twenty):
    def __getitem__(self, i):
        return np.load("%d.npy" % i)


class Read(Twenty):
    def __getitem__(self, i):
        with open(self.x) as file:
            return np.array(file.read())


class Far(Twenty):
    def __getitem__(self, i):
        return self.helper(self.x, i)

    def helper(self, x, i):
        return np.sort(x[i])


class Wide(Twenty):
    def __getitem__(self, i):
        return self.x[i] - self.y


class Computed(Twenty):
    def __getattr__(self, name):
        if name != "z":
            raise AttributeError(name)
        return X

    def __getitem__(self, i):
        return self.z[i]


class Intercepted(Twenty):
    def __getattribute__(self, name):
        value = object.__getattribute__(self, name)
        return value * 2 if name == "x" else value

    def __getitem__(self, i):
        return self.x[i]


class Hidden(Twenty):
    """A property of that name stands above the attribute."""

    @property
    def x(self):
        return vars(self)["x"] * 2

    @x.setter
    def x(self, value):
        vars(self)["x"] = value

    def __getitem__(self, i):
        return self.x[i]


class Many(Plain):
    def __getitems__(self, numbers):
        return [self.x[i] for i in numbers]


class Endless(Torchs):
    def __getitem__(self, i):
        return X[i]


def line(cls: type) -> str:
    return rf"{cls.__name__} is a class of its own, which reads by its __getitem__, in which nothing is a picture, a sound or a video: .*test_own_rows.py:\d+: got "


@pytest.mark.parametrize("dataset, message", [
    (Random(X), r"'np.random.randint\(0, 20\)'"),
    (RandomOfPythons(X), r"'random.randint\(0, 19\)'"),
    (Odd(X), "'i % 2', which may be another for each sample"),
    (Positive(X, T), r"'self.y\[i\] > 0', which may be another for each sample"),
    (Late(X), "'i < LIMIT', which is so for some samples and not for others"),
    (Ahead(X), r"'self.x\[i - 1\]', of which sample 0 of 20 asks for row -1, and self.x has 20, which Python counts from the end"),
    (Plain(X[:10]), r"'self.x\[i\]', of which sample 19 of 20 asks for row 19, and self.x has 10"),
    (Windows(T[:26]), r"'self.x\[i:i \+ 8\]', of which sample 19 of 20 asks for rows 19 to 26, and self.x has 26, which ends there: .* a window that is cut short, of which torch makes no batch"),
    (InPlace(X), "'x /= 2', which writes into what may be the data set's own, or another value's, memory"),
    (InPlaceOfTwo(X), r"'x \+= 1', which writes into"),
    (InPlaceOfAnother(X * 0), "'x -= x'"),
    (InPlaceOfMember(X * 0), "'x /= 2', which writes into"),
    (Stored(X), "'self.last', to which something is assigned"),
    (Written(X), r"'x\[0\]'"),
    (Mean(X), r"'self.x\[i\].mean\(\)'"),
    (Product(X, X.T), r"'self.x\[i\] @ self.y', an operator that is none of"),
    (Log(X), r"'np.log\(self.x\[i\]\)'"),
    (Empty(T), r"'self.x\[i \* 2:i \* 2\]', of 0 rows, want one at least"),
    (Uneven(T), r"'self.x\[i:2 \* i \+ 1\]', whose length is another for some samples"),
    (Stepped(T), r"'self.x\[i:i \+ 4:2\]', want both of its ends, and no step"),
    (Open(T), r"'self.x\[i:\]', want both of its ends"),
    (ByFloats(X, T / 2), r"'self.x\[self.y\[i\]\]', by a value of which it is not known whether it is a whole number"),
    (Until(X), "'while i > 3:"),
    (Tried(X), "'try:"),
    (Files(), "'%d.npy' % i"),
    (Read("x"), r"with open\(self.x\)"),
    (Far(X), r"'np.sort\(x\[i\]\)'"),
    (Wide(X, X), r"'self.x\[i\] - self.y', of \[4\] and \[20, 4\], which has more axes"),
    (Computed(), "'self.z'"),
    (Intercepted(X), "'self.x'"),
    (Hidden(X), r"""'vars\(self\)"""),
    (Plain(X.astype(">f4")), r"'self.x\[i\]', self.x: got >f4, whose bytes are in another order than this machine's, .*self.x.astype\(self.x.dtype.newbyteorder\(\"=\"\)\)"),
    (Plain(np.array([{}] * 20)), "self.x: got object, want one of bool, uint8"),
    (Plain(np.zeros(20, [("a", "i4")])), "self.x: got void"),
    (Plain(X.astype("c8")), "self.x: got complex64, .*view_as_real"),
    (Plain(np.ma.masked_array(X)), "of a MaskedArray, want a tensor, an array of NumPy's or a list"),
    (Plain(np.float32(3)), "of a float32, want a tensor, an array"),
    (Plain(["a"] * 20), r"self.x\[i\]: got a str, want numbers, arrays, or lists of numbers"),
    (Plain([1, 2.5] * 10), r"self.x\[i\]: has int and float, want one type in all samples"),
    (Plain([1] * 3 + [2.5] + [1] * 16), r"self.x\[3\]: got a float, want a int, as the first sample has it"),
    (Plain([[1] * (n + 1) for n in range(20)]), r"self.x\[1\]: got a list of 2 of int, want a list of 1 of int, .*max_length \(docs/tables.md\)"),
    (Plain([[1, 2.0]] * 20), r"got a list of float, int, want numbers of one type"),
    (Plain([1 << 70] * 20), "self.x: "),
    (Plain([(1, 2), (1, 2, 3)] * 10), r"self.x\[i\]: has samples of other keys, or of other lengths"),
    (Plain([{"x": 1}] * 3 + [{"y": 1}] + [{"x": 1}] * 16), r"self.x\[3\]: has no 'x', want samples alike"),
])
def test_what_is_no_row_or_window_is_refused_with_the_place(dataset, message):
    with pytest.raises(spdl.ArgumentError, match=line(type(dataset)) + f".*{message}") as refused:
        spdl.DataLoader(dataset, batch_size=4)
    assert "docs/own-datasets.md#rows-and-windows" in str(refused.value) and "spdl.pipeline" in str(refused.value) and "torch's own DataLoader" in str(refused.value)


@pytest.mark.parametrize("dataset, message", [
    (Text(X), r"a sample\['name'\] is 'a', which comes of no array of the data set's; want rows"),
    (Numbers(X), r"a sample\[1\]\[1\] is None, which comes of no array"),
    (OfList(y=[[1, 2]] * 20), r"a sample is a list of numbers, of which torch makes no tensor: torch.tensor"),
    (Plain(np.zeros((20, 0))), r"a sample is \[0\] of f8, without an element, want one at least"),
    (Many(X), "it has a __getitems__, which makes batches by itself"),
    (Endless(), "it has no __len__, want how many samples there are"),
])
def test_samples_of_other_things_are_refused(dataset, message):
    with pytest.raises(spdl.ArgumentError, match=f"in which nothing is a picture, a sound or a video: .*{message}"):
        spdl.DataLoader(dataset, batch_size=4)


def test_a_method_without_its_text_is_refused():
    space: dict[str, Any] = {"Twenty": Twenty}
    exec("class Typed(Twenty):\n    def __getitem__(self, i):\n        return self.x[i]", space)
    with pytest.raises(spdl.ArgumentError, match="Typed is a class of its own, .*Typed.__getitem__, whose text cannot be read, want rows"):
        spdl.DataLoader(space["Typed"](X))
