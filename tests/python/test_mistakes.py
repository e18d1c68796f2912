"""What is mistaken for a name or an argument of ours is answered with what was meant."""

from __future__ import annotations

import inspect
import pickle
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
    ({"slots": 64}, r'open: slots is the description\'s; say ring: \{slots: N\} there, or of a folder args=\["--slots", "..."\]'),
    ({"batch": "64"}, "open: batch is '64', want a whole number$"),
    ({"seed": True}, "open: seed is True, want a whole number$"),
    ({"dtype": 32}, "open: dtype is 32, want text, such as dtype='f32'"),
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
    with pytest.raises(TypeError, match="open: got 64, True behind spec, want the others by their names: batch, size, shuffle, .*state, engine, args, .*source_threads, sampler$"):
        spdl.open("x", 64, True)
    with pytest.raises(TypeError, match="attach: got 6 behind name, group, lane, max_leases, handoff, timeout, want no more$"):
        spdl.attach("x", None, 0, 1, False, 5, 6)


def test_what_attach_does_not_take_is_refused_with_the_names(mock):
    with pytest.raises(TypeError, match="attach: got an unexpected argument groups; did you mean group?"):
        spdl.attach("x", groups="train")
    with pytest.raises(TypeError, match="attach: got an unexpected argument batch; want group, lane, max_leases, handoff, timeout; what batches are is told to the engine"):
        spdl.attach("x", batch=64)


def build(builder: spdl.pipeline.PipelineBuilder, **arguments: object) -> object:
    return builder.add_source([1]).add_sink().build(**arguments)


@pytest.mark.parametrize("call, answer", [
    (lambda b: b.pipe(print, concurency=4), "pipeline: pipe: got an unexpected argument concurency; did you mean concurrency?"),
    (lambda b: b.pipe(print, num_workers=4), "pipeline: pipe: got an unexpected argument num_workers; want concurrency, executor, name, .*deadline$"),
    (lambda b: b.pipe(print, 4), "pipeline: pipe: got 4 behind op, want the others by their names: concurrency, executor"),
    (lambda b: b.add_source([1], continous=True), "add_source: got an unexpected argument continous; did you mean continuous?"),
    (lambda b: b.aggregate(4, drop_lst=True), "aggregate: got an unexpected argument drop_lst; did you mean drop_last?"),
    (lambda b: b.aggregate(4, True), "aggregate: got True behind input, want the others by their names: drop_last$"),
    (lambda b: b.disaggregate(4), "disaggregate: got 4, want nothing; an item says itself what it is made of$"),
    (lambda b: b.disaggregate(size=4), "disaggregate: got an unexpected argument size; an item says itself"),
    (lambda b: b.path_variants(len, [], nmae="x"), "path_variants: got an unexpected argument nmae; did you mean name?"),
    (lambda b: b.to(None, buffer=2), "to: got an unexpected argument buffer; did you mean buffer_size?"),
    (lambda b: b.add_sink(bufer_size=2), "add_sink: got an unexpected argument bufer_size; did you mean buffer_size?"),
    (lambda b: build(b, num_thread=4), "build: got an unexpected argument num_thread; did you mean num_threads?"),
    (lambda b: spdl.pipeline.PipelineBuilder([1]), r"PipelineBuilder: got \[1\], want nothing; its methods take what a pipeline is made of"),
    (lambda b: spdl.pipeline.build_pipeline(b.add_source([1]).add_sink().get_config(), threads=4), "build_pipeline: got an unexpected argument threads; did you mean num_threads?"),
    (lambda b: spdl.pipeline.defs.Pipe(print, concurency=4), "Pipe: got an unexpected argument concurency; did you mean concurrency?"),
    (lambda b: spdl.pipeline.defs.Aggregate(4, drop=True), "Aggregate: got an unexpected argument drop; did you mean drop_last?"),
    (lambda b: spdl.pipeline.defs.Merge([], opp=print), "Merge: got an unexpected argument opp; did you mean op?"),
])
def test_what_a_pipeline_is_not_told_so_is_answered_with_what_it_takes(call, answer):
    with pytest.raises(TypeError, match=answer):
        call(spdl.pipeline.PipelineBuilder())


def test_what_is_said_of_a_pipeline_says_as_before_what_it_takes():
    """The answers are the calls' own: help() and type checkers see what there is."""
    takes = inspect.signature(spdl.pipeline.PipelineBuilder.pipe).parameters
    assert list(takes)[:3] == ["self", "op", "concurrency"] and takes["op"].kind is inspect.Parameter.POSITIONAL_ONLY
    assert pickle.loads(pickle.dumps(spdl.pipeline.defs.Pipe)) is spdl.pipeline.defs.Pipe


@pytest.mark.parametrize("arguments, named, got", [
    ((), {}, "nothing"), (("imagenet.yaml",), {}, "str"), (({"source": {}},), {"batch_size": 64}, "dict, batch_size"), ((), {"spec": "x"}, "spec"),
])
def test_a_loader_is_made_by_the_calls_that_make_them(arguments, named, got):
    with pytest.raises(TypeError, match=rf"^spdl: Loader: got {got}; spdl.open\(spec\) and spdl.attach\(name\) make loaders$"):
        spdl.Loader(*arguments, **named)


def test_what_a_loader_is_not_told_so_is_answered_with_what_it_takes(loader):
    for call, answer in [
        (lambda: loader.ring("val", groups="a"), "Loader.ring: got an unexpected argument groups; did you mean group?"),
        (lambda: loader.ring("val", "a"), "Loader.ring: got 'a' behind name, want the others by their names: group, lane"),
        (lambda: loader.pin(devices=0), "Loader.pin: got an unexpected argument devices; did you mean device?"),
        (lambda: loader.state_dict(count=False), "Loader.state_dict: got an unexpected argument count; did you mean count_held?"),
    ]:
        with pytest.raises(TypeError, match=answer):
            call()
