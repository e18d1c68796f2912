"""What is refused of Hugging Face's data sets, by stand-ins with the names and attributes of their classes, where there are none. tests/exact/test_huggingface.py holds their own against
torch's DataLoader."""

from __future__ import annotations

from typing import Any

import pytest
import spdl


def theirs(name: str, module: str = "datasets.arrow_dataset", base: type = object, **attributes: Any) -> Any:
    one = type(name, (base,), {"__module__": module, "__len__": lambda self: 3, "__getitem__": lambda self, i: None})()
    vars(one).update(attributes)
    return one


def feature(name: str, **attributes: Any) -> Any:
    cls = type(name, (), {"__module__": "datasets.features", "__repr__": lambda self: f"{name}({', '.join(map(str, attributes.values()))})"})
    one = cls()
    vars(one).update(attributes)
    return one


def dataset(form: Any = None, rows: int = 3, **features: Any) -> Any:
    table = type("Table", (), {"num_rows": rows})()
    return theirs("Dataset", data=table, features=features, format={"type": form, "format_kwargs": {}, "columns": list(features), "output_all_columns": False})


IMAGE, LABEL = feature("Image", mode=None, decode=True), feature("ClassLabel", names=["a", "b"])


@pytest.mark.parametrize("make, message", [
    (lambda: theirs("DatasetDict", "datasets.dataset_dict", dict), r"dataset: DatasetDict has the splits , want one of them: dataset\['train'\]"),
    (lambda: dataset("custom", image=IMAGE), r"has a function as its transform .*, whose text cannot be read, want .*; or dataset.with_format\(None\), and transform=Compose\(\[...\]\)"),
    (lambda: dataset("pandas", image=IMAGE), "has the format pandas, want none or torch"),
    (lambda: dataset(rows=0, image=IMAGE), "Dataset has no samples"),
    (lambda: dataset(image=IMAGE, when=feature("Value", dtype="timestamp[s]")), r"features\['when'\]: got Value\(timestamp\[s\]\), want texts, numbers and bool; leave its column out: fields="),
    (lambda: dataset(clip=feature("Video")), r"features\['clip'\]: got Video\(\), want a description with a section video"),
    (lambda: dataset(views=feature("List", feature=IMAGE)), r"features\['views'\]: got a list of Image\(None, True\), want lists of numbers; several pictures a sample are image: \{many: N\}"),
    (lambda: dataset(deep={"er": feature("Nifti")}), r"features\['deep.er'\]: got Nifti\(\), want Image, Audio, ClassLabel"),
])
def test_what_has_no_equal_is_refused_with_the_remedy(make, message):
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.DataLoader(make(), transform=None, batch_size=4)
    with pytest.raises(spdl.ArgumentError, match=message):
        spdl.describe(make(), batch_size=4)


def test_transforms_and_fields_are_those_of_the_columns():
    both = dataset(image=IMAGE, mask=IMAGE, label=LABEL)
    for options, message in [
        (dict(transform=[]), r"transform: got one for the columns image, mask, want one for each: transform=\{'image': ..., 'mask': ...\}"),
        (dict(transform={"label": []}), r"transform\['label'\]: got one of a column that is no picture or sound that is asked for, want image, mask"),
        (dict(fields=("image", "masks")), r"fields: got \('image', 'masks'\), and there is no column 'masks', want some of image, mask, label"),
        (dict(fields=7.5), "fields: got 7.5, want names of columns in an order"),
        (dict(fields="label", transform=[]), "transform: got one, and no column that is asked for is a picture"),
        (dict(collate_fn=7), "collate_fn: got 7, want a function"),
    ]:
        with pytest.raises(spdl.ArgumentError, match=message):
            spdl.DataLoader(both, **options)


def test_a_class_of_ones_own_reads_by_itself():
    own = type("Own", (type(dataset()),), {"__module__": "mine", "__getitem__": lambda self, i: None})()
    with pytest.raises(spdl.ArgumentError, match="Own is a class of its own, which reads by its __getitem__, want datasets.Dataset itself"):
        spdl.DataLoader(own)


def test_torchs_arguments_alone_go_with_torchvisions(monkeypatch):
    with pytest.raises(TypeError, match="got transform, torch's arguments, beside a dict"):
        spdl.describe({}, transform=[])
