"""What is mistaken for a name or an argument of ours is answered with what was meant."""

from __future__ import annotations

import subprocess
import sys

import pytest
import spdl


@pytest.mark.parametrize("name, answer", [
    ("spdl.opne", "module 'spdl' has no attribute 'opne'; did you mean open?"),
    ("spdl.Dataloader", "'Dataloader'; did you mean DataLoader?"),
    ("spdl.pipelines", "did you mean pipeline?"),
    ("spdl.load_image", "it is spdl.io.load_image"),
    ("spdl.PipelineBuilder", "it is spdl.pipeline.PipelineBuilder"),
    ("spdl.io.lod_image", "module 'spdl.io' has no attribute 'lod_image'; did you mean load_image?"),
    ("spdl.io.loadvideo", "did you mean load_video?"),
    ("spdl.io.utils.get_ffmpeg_version", "did you mean get_ffmpeg_versions?"),
    ("spdl.pipeline.PipelineBuild", "did you mean PipelineBuilder?"),
    ("spdl.source.DistributedSampler", "did you mean DistributedRandomSampler?"),
    ("spdl.dataloader.PytorchDataLoader", "did you mean PyTorchDataLoader?"),
])
def test_a_misspelt_name_is_answered_with_the_one_that_was_meant(name, answer):
    """In the exception's own text: notebooks and logs show no more of it."""
    with pytest.raises(AttributeError) as told:
        eval(name)
    assert answer in str(told.value)


@pytest.mark.parametrize("name, answer", [
    ("image", """'Batch' object has no attribute 'image'; write batch["image"]"""),
    ("images", 'did you mean batch["image"]?'),
    ("to", 'batch["image"] is a numpy view of one field, batch.array("image").torch() a tensor'),
    ("relase", "did you mean release?"),
])
def test_what_is_asked_of_a_batch_is_answered_with_how_it_is_said(mock, name, answer):
    with spdl.attach("x") as loader, loader.acquire() as batch:
        with pytest.raises(AttributeError) as told:
            getattr(batch, name)
        assert answer in str(told.value)


@pytest.mark.parametrize("name, answer", [
    ("set_epoch", "'Loader' object has no attribute 'set_epoch'; leave it out: each loop over a loader is the next epoch"),
    ("batch_size", "write loader.info.batch_rows"),
    ("sampler", "say order: {...} in the description"),
    ("seed", "write loader.info.seed"),
    ("clases", "did you mean classes?"),
])
def test_what_is_asked_of_a_loader_is_answered_with_how_it_is_said(mock, name, answer):
    with spdl.attach("x") as loader:
        with pytest.raises(AttributeError) as told:
            getattr(loader, name)
        assert answer in str(told.value)


def test_a_batch_and_a_loader_lack_what_programs_ask_for(mock):
    with spdl.attach("x") as loader, loader.acquire() as batch:
        for one in (loader, batch):
            assert not hasattr(one, "__wrapped__") and not hasattr(one, "_qqqqqqqq"), one
            with pytest.raises(AttributeError, match="^'[A-Z][a-z]*' object has no attribute 'qqqqqqqq'$"):
                one.qqqqqqqq


def test_a_name_that_resembles_none_is_answered_without_a_guess():
    for module in (spdl, spdl.io, spdl.pipeline, spdl.source, spdl.dataloader):
        with pytest.raises(AttributeError, match=f"^module '{module.__name__}' has no attribute 'qqqqqqqq'$"):
            module.qqqqqqqq
        assert not hasattr(module, "__wrapped__"), "what programs ask every module for"


def test_a_traceback_says_what_was_meant_once():
    """Python adds a guess of its own to errors that leave it the room."""
    done = subprocess.run([sys.executable, "-c", "import spdl; spdl.io.lod_image"], capture_output=True, text=True, timeout=120)
    assert done.stderr.lower().count("did you mean") == 1, done.stderr


@pytest.mark.parametrize("arguments, answer", [
    ({"batch": 64}, r'open: batch is the description\'s; say batch: N there, or of a folder args=\["--batch", "..."\]'),
    ({"seed": 1}, r"seed is the description's; say order: \{seed: N\} there"),
    ({"image": {}}, r"image is the description's; say image: \{...\} there$"),
    ({"folder": "x"}, r"folder is the description's; say source: \{folder: DIR\} there$"),
    ({"num_workres": 4}, "num_workres is torch's num_workers; leave it out: the engine has threads"),
    ({"pin_memory": True}, r"pin_memory is torch's; call loader.pin\(\)"),
    ({"transform": None}, r"transform is spdl.DataLoader's; of pictures say image: \{transform: \[...\]\} in the description"),
    ({"fields": "image"}, "fields is spdl.DataLoader's; a batch has all of its fields by their names"),
    ({"max_lease": 3}, "open: got an unexpected argument max_lease; did you mean max_leases?"),
    ({"qqqqqqqq": 3}, r"open: got an unexpected argument qqqqqqqq; what it takes stands in help\(spdl.open\)"),
])
def test_what_open_does_not_take_is_answered_with_what_does_it(mock, arguments, answer):
    with pytest.raises(TypeError, match=answer):
        spdl.open("x", **arguments)
    assert mock.counts.readers == 0


def test_what_open_is_given_by_its_place_is_refused_with_the_names(mock):
    with pytest.raises(TypeError, match="open: got 64, True behind spec, want the others by their names: state, engine, args, .*source_threads$"):
        spdl.open("x", 64, True)
    with pytest.raises(TypeError, match="attach: got 6 behind name, group, lane, max_leases, handoff, timeout, want no more$"):
        spdl.attach("x", None, 0, 1, False, 5, 6)


def test_what_attach_does_not_take_is_refused_with_the_names(mock):
    with pytest.raises(TypeError, match="attach: got an unexpected argument groups; did you mean group?"):
        spdl.attach("x", groups="train")
    with pytest.raises(TypeError, match="attach: got an unexpected argument batch; want group, lane, max_leases, handoff, timeout; what batches are is told to the engine"):
        spdl.attach("x", batch=64)
