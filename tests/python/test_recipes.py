"""Every block of docs/recipes.md runs as it is written, on made-up data, and does what its section says."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess

import blocks
import pytest
from conftest import ROOT

pytest.importorskip("numpy")
pytest.importorskip("PIL")

RECIPES = blocks.of("recipes.md")

# What stands for the model: it writes down what it is given, a line a call.
PRELUDE = blocks.MEET + """
import json
import numpy as np

def said(x):
    if type(x).__module__ == "torch":
        x = x.numpy()
    if type(x).__module__.startswith("jax"):
        x = np.asarray(x)
    if isinstance(x, np.ndarray):
        assert x.dtype.kind != "f" or np.isfinite(x).all() or x.ndim == 1
        return [str(x.dtype), *x.shape]
    return [said(v) for v in x] if isinstance(x, (list, tuple)) else x

def note(what, *given):
    print("RECIPE", json.dumps([what, *map(said, given)]), flush=True)

def step(*given):
    meet()
    note("step", *given)

def score(*given): note("score", *given)
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Read them, do not change them."""
    return blocks.made(tmp_path_factory.mktemp("recipes"), "recipe_data")


@pytest.fixture
def program(data, runtime, tmp_path):
    """Run a block as so many ranks, which must end well and say nothing on stderr; what it noted, or what each of several ranks did."""
    shutil.copytree(data, tmp_path / "data")
    calls = iter(range(9))

    def program(block: str, ranks: int = 1, quiet: bool = True) -> list[list]:
        (tmp_path / "recipe.py").write_text(PRELUDE + block)
        printed = blocks.execute(tmp_path / "recipe.py", tmp_path / "data", data / "cache", ranks, quiet, run=f"recipe-{next(calls)}")
        noted = [[json.loads(line[7:]) for line in out.splitlines() if line.startswith("RECIPE ")] for out in printed]
        return noted if ranks > 1 else noted[0]

    return program


@pytest.fixture
def run(program):
    """Run the block of the section whose title begins so."""

    def run(title: str, ranks: int = 1, quiet: bool = True) -> list[list]:
        (name,) = [name for name in RECIPES if name.startswith(title.partition(" | ")[0]) and name.partition(" | ")[2] == title.partition(" | ")[2]]
        return program(RECIPES[name], ranks, quiet)

    return run


def test_every_block_is_tried_here():
    """A block that is added to the page fails here until there is a test for it. Faster R-CNN's is in tests/exact/test_drop_sizes.py, where torchvision is."""
    tried = ["Classification", "CLIP", "Segmentation", "Detection", "Faster", "Mask", "SimCLR", "Video", "Speech", "An inference", "Diffusion", "SDXL", "Vision", "Language", "Robot", "A format", "MixUp", "JAX", "TensorFlow", "A loader"]
    more = {"A format": 2, "Vision": 4, "Language": 2, "Robot": 5, "A loader": 4}
    assert all(sum(name.startswith(title) for name in RECIPES) == more.get(title, 1) for title in tried) and len(RECIPES) == len(tried) + sum(more.values()) - len(more)


IMAGE, LABEL = ["float32", 16, 3, 176, 176], ["int64", 16]


def test_classification_goes_on_from_its_checkpoint(run):
    """64 and 36 pictures: 4 and 3 batches an epoch. The second run has the state of the third batch."""
    val = [["score", ["float32", n, 3, 224, 224], ["int64", n]] for n in (16, 16, 4)]
    assert run("Classification") == 2 * ([["step", IMAGE, LABEL]] * 4 + val)
    assert run("Classification") == [["step", IMAGE, LABEL]] + val + [["step", IMAGE, LABEL]] * 4 + val


def test_classification_runs_on_two_ranks(run):
    """2 and 2 batches; the state is of the second epoch's first."""
    val = [["score", ["float32", n, 3, 224, 224], ["int64", n]] for n in (16, 2)]
    assert run("Classification", ranks=2) == [2 * ([["step", IMAGE, LABEL]] * 2 + val)] * 2
    assert run("Classification", ranks=2) == [[["step", IMAGE, LABEL]] + val] * 2


def test_clip_has_captions_and_numbers_beside_its_pictures(run):
    got = run("CLIP")
    assert len(got) == 4 and all(image == ["float32", 16, 3, 224, 224] and len(captions) == 16 for _, image, captions, _ in got)
    laion = sum(caption.startswith("laion: a picture") for _, _, captions, _ in got for caption in captions)
    assert laion == 48, "three of four"


def test_segmentation_has_masks(run):
    assert run("Segmentation") == [["step", ["float32", 4, 3, 256, 256], ["uint8", 4, 256, 256]]] * 2


def test_detection_has_the_boxes_that_its_crops_have_left(run):
    """The boxes of a picture are all in one place: a crop leaves all of them, or none. How they are moved is tests/e2e/test_media.py's to show."""
    got = run("Detection")
    assert [image for _, image, _ in got] == [["float32", 4, 3, 320, 320]] * 2
    targets = [target for _, _, targets in got for target in targets]
    assert all(boxes[0] == "float32" and boxes[2] == 4 and classes == ["int64", boxes[1]] for boxes, classes in targets)
    counts = sorted(boxes[1] for boxes, _ in targets)
    assert len(counts) == 8 and all(got <= most for got, most in zip(counts, [0, 0, 1, 1, 2, 2, 3, 3])) and sum(counts) >= 3


def test_mask_rcnn_has_a_mask_for_each_box(run):
    got = run("Mask")
    assert [image for _, image, _ in got] == [["float32", 2, 3, 512, 512]] * 4
    targets = [target for _, _, targets in got for target in targets]
    assert all(boxes == ["float32", masks[1], 4] and classes == ["int64", masks[1]] and masks == ["uint8", masks[1], 512, 512] for boxes, classes, masks in targets)
    counts = sorted(masks[1] for *_, masks in targets)
    assert len(counts) == 8 and all(got <= most for got, most in zip(counts, [0, 0, 1, 1, 2, 2, 3, 3])) and sum(counts) >= 3


def test_views_have_their_sizes(run):
    view = [["float32", 8, 3, 224, 224]] * 2 + [["float32", 8, 3, 96, 96]] * 4
    assert run("SimCLR") == [["step", view]] * 8


def test_video_has_one_clip_and_three(run):
    assert run("Video") == [["step", ["float32", 4, 3, 16, 112, 112], ["int64", 4]]] * 2 + \
        [["score", ["float32", n, 3, 3, 16, 112, 112], ["int64", n]] for n in (4, 1)]


def test_speech_is_padded_to_the_longest_of_similar_length(run):
    got = run("Speech")
    assert sorted(text for *_, texts in got for text in texts) == [f"well, {i}" for i in range(9)]
    shapes = [audio for _, audio, _, _ in got]
    assert sorted(n for _, n, _, _ in shapes[:-1]) == [2, 2, 4] and shapes[-1][:3] == ["float32", 1, 80]
    assert all((steps - 1) * 160 * n <= 4 * 16000 for _, n, _, steps in shapes), "rows x longest is bounded"


def test_single_files_are_decoded_and_bad_ones_told(run):
    assert run("An inference") == [["score", ["float32", 1, 3, 224, 224]], ["score", ["uint8", 8, 112, 112, 3], ["float32", 1, 7000]]]


def test_diffusion_has_what_the_filter_leaves(run):
    got = run("Diffusion")
    assert [image for _, image, _ in got] == [["float16", 4, 3, 64, 64]] * 2
    assert {caption for _, _, captions in got for caption in captions} <= {f"painting {i}" for i in range(2, 7)}


def test_sdxl_has_batches_of_one_shape_and_what_it_is_conditioned_on(run):
    """Of the sizes that a 64 x 64 has room for: 30 pictures of 4 shapes, padded to full batches."""
    got = run("SDXL")
    shapes = [tuple(image[3:]) for _, image, _, _ in got]
    assert all(image[:3] == ["float16", 4, 3] and len(captions) == 4 and ids == ["int64", 4, 6] for _, image, captions, ids in got)
    assert {shape: shapes.count(shape) for shape in shapes} == {(48, 80): 3, (80, 48): 2, (64, 64): 2, (32, 96): 2}


def test_vision_language_has_conversations(run):
    got = run("Vision")
    assert [image for _, image, _ in got] == [["float32", 4, 3, 336, 336]] * 2
    assert {turns[1]["value"] for _, _, rows in got for turns in rows} <= {f'It is "{i}".' for i in range(9)}


def test_vision_language_has_any_number_of_pictures_a_row(run):
    got = run("Vision | 2")
    assert len(got) == 2 and sorted(n for _, _, counts, _ in got for n in counts) == [0, 0, 1, 1, 2, 2, 3, 3]
    for _, images, counts, rows in got:
        assert images == ["float32", sum(counts), 3, 336, 336] and [int(turns[1]["value"][7:-2]) % 4 for turns in rows] == counts


def test_vision_language_has_tiles(run):
    got = run("Vision | 3")
    assert len(got) == 2
    for _, pixels, patches, prompts in got:
        assert pixels == ["float32", sum(patches), 3, 448, 448] and len(patches) == 4 and set(patches) <= set(range(1, 14))
        assert [prompt.count("<IMG_CONTEXT>") for prompt in prompts] == [256 * n for n in patches] and all(prompt.endswith("</img>\nWhat is it?") for prompt in prompts)


def test_vision_language_has_patches(run):
    got = run("Vision | 4")
    assert len(got) == 2
    for _, pixels, grids, prompts in got:
        assert pixels == ["float32", sum(h * w for _, h, w in grids), 1176] and len(grids) == 4 and all(t == 1 and h % 2 == w % 2 == 0 and 1024 <= h * w <= 5120 for t, h, w in grids)
        assert [prompt.count("<|image_pad|>") for prompt in prompts] == [h * w // 4 for _, h, w in grids] and all(prompt.endswith("<|vision_end|>\nWhat is it?") for prompt in prompts)


DOCUMENTS = """
def documents(segments, positions, begins):
    \"""Each is within one row, and of one segment, from its first position on.\"""
    assert begins[0] == 0 and begins[-1] == segments.size and (np.diff(begins) > 0).all()
    for a, b in zip(begins[:-1], begins[1:]):
        assert len(set(segments.ravel()[a:b])) == 1 and a // segments.shape[1] == (b - 1) // segments.shape[1]
        assert segments.ravel()[a] == 0 or positions.ravel()[a:b].tolist() == list(range(b - a))
    assert len(begins) - 1 == segments.max(1).sum() + (segments.min(1) == 0).sum()
"""


def test_language_models_have_rows_of_documents(program):
    (block,) = [text for name, text in RECIPES.items() if name.startswith("Language") and " | " not in name]
    assert '"length": 2048' in block and block.count("step(") == 1
    block = block.replace('"length": 2048', '"length": 32').replace("step(", "documents(segments, positions, cu_seqlens(segments)), step(")
    ((what, ids, positions, begins, labels),) = program(DOCUMENTS + block)                                  # six rows, of which four are a batch
    assert (what, ids, positions, labels) == ("step", ["int64", 4, 32], ["int32", 4, 32], ["int64", 4, 32]) and begins[0] == "int32" and begins[1] > 5


def test_language_models_have_masks_and_labels(run):
    got = run("Language | 2")
    assert len(got) == 3 and all(what[0] == "step" for what in got)
    for _, ids, mask, labels in got:
        assert ids == ["int64", 4, ids[2]] and ids[2] <= 21 and mask == ["bool", *ids[1:]] and labels == ids


# What LeRobot's data set gives for each moment: see lerobot_data.py for what they are made of.
MOMENTS = """
import lerobot_data as made

BEGINS = np.cumsum([0, *made.LENGTHS])

def moments(top, wrist, state, actions, padded, tasks):
    \"""Each row is the frames, the state, the actions and the task of its moment, frame by frame.\"""
    std, mean = np.array([0.229, 0.224, 0.225]), np.array([0.485, 0.456, 0.406])
    for row, (i, episode) in enumerate(state.astype(int)):
        first, last = BEGINS[episode], BEGINS[episode + 1] - 1
        for frames, level in ((top, lambda k: 20 + 5 * k), (wrist, lambda k: 215 - 5 * k)):
            seen = (frames[row].mean((2, 3)) * std + mean) * 255
            assert np.abs(seen - np.array([[level(max(i - 1, first))], [level(i)]])).max() < 2, (i, episode, seen)
        steps = np.minimum(i + np.arange(16), last)
        assert (actions[row] == np.stack([steps, -steps], 1)).all() and (padded[row] == (i + np.arange(16) > last)).all()
        assert tasks[row] == made.TASKS[episode % 2]
    note("moments", sorted(int(i) for i in state[:, 0]))
"""


@pytest.mark.parametrize("root", ["lerobot", "lerobot_v21"])
def test_robots_have_the_frames_of_their_moment(program, tmp_path_factory, root):
    """Of both layouts: every sample once, and no frame of another episode."""
    pytest.importorskip("pyarrow")
    data = blocks.made(tmp_path_factory.mktemp("robots"), "lerobot_data")
    table, loop = (text.replace("lerobot", str(data / root)) for name, text in RECIPES.items() if name.startswith("Robot learning: LeRobot"))
    assert program(table) == []
    got = program(MOMENTS + loop.replace("    step(", "    moments("))
    assert sorted(i for _, moments in got for i in moments) == list(range(38)) and len(got) == 10
    shapes = program(loop)
    assert shapes[0][:-1] == ["step", ["float32", 4, 2, 3, 96, 96], ["float32", 4, 2, 3, 96, 96], ["float32", 4, 2], ["float32", 4, 16, 2], ["bool", 4, 16]]


# What core/grid/testdata/make.py wrote of each step.
DEMONSTRATIONS = """
def steps(image, position, actions):
    \"""Each sample is 16 steps of one demonstration, of which the first two are seen.\"""
    first = actions[:, :1, :1]
    assert (actions == first + np.arange(16)[:, None]).all() and (position == actions[:, :2, :3]).all() and (image == actions[:, :2, :1, None, None]).all()
    step(image, position, actions)
    said([int(k) for k in first.ravel()])
"""


def test_demonstrations_in_hdf5_are_read_where_they_lie(program, tmp_path):
    """20 and 17 steps are 5 and 2 samples, and 13 none."""
    text = RECIPES["Robot learning: demonstrations in HDF5"].replace('"demo.h5"', f'"{ROOT}/core/grid/testdata/robomimic.h5"')
    got = program(DEMONSTRATIONS + text.replace("    step(", "    steps("))
    assert got[0] == ["step", ["uint8", 7, 2, 84, 84, 3], ["float64", 7, 2, 3], ["float64", 7, 16, 7]], got


# The demonstrations of recipe_data.py, of which windows begin one step before and end seven behind.
SEQUENCES = """
ENDS = np.cumsum(9 - np.arange(206) % 2)

def sequences(image, state, action, padded):
    for row, steps in enumerate(action[:, :, 0]):
        episode = np.searchsorted(ENDS, steps[0], side="right")
        first, last = ENDS[episode] - 9 + episode % 2, ENDS[episode] - 1
        there = np.arange(16) + first - 1 + (padded[row, 0] == 0)
        assert (steps == np.clip(there, first, last)).all() and (padded[row] == ((there < first) | (there > last))).all()
        assert (state[row] == steps[:2, None]).all() and (image[row, :, 5, 5, 0] == steps[:2] % 256).all()
    note("sequences", len(action), list(image.shape), list(state.shape), list(action.shape))
"""


def test_replay_buffers_have_diffusion_policys_samples(program):
    """Of 9 steps there are two windows, of 8 one; 4 of the 206 demonstrations are for validation."""
    got = program(SEQUENCES + RECIPES["Robot learning: diffusion policy's replay buffers"].replace("    step(", "    sequences("))
    val = sum(2 - k % 2 for k in random.Random(42).sample(range(206), 4))
    assert got[0] == ["sequences", 64, [64, 2, 96, 96, 3], [64, 2, 2], [64, 16, 2]]
    assert sum(what[1] for what in got if what[0] == "sequences") >= 309 - val and [what[1][1] for what in got if what[0] == "score"] == [val]


def test_compressed_episodes_are_read_where_they_lie(program):
    """Of 6 steps that are greys 20, 60 and so on, with windows of 3 in place of 16."""
    text = RECIPES["Robot learning: demonstrations in HDF5 | 2"].replace('"episode_*.hdf5"', f'"{ROOT}/core/grid/testdata/media.h5"').replace("16", "3")
    check = """
def steps(now, then, qpos, actions):
    first = ((now[:, 0, 0, 0].astype(int) - 20 + 10) // 40).tolist()
    assert sorted(first) == [0, 1, 2, 3] and all(abs(now[i].astype(int) - 40 * k - 20).max() <= 1 and abs(then[i].astype(int) - 40 * k - 60).max() <= 1 for i, k in enumerate(first))
    step(now, then, qpos, actions)
"""
    got = program(check + text.replace("        step(", "        steps("))
    assert got == [["step", ["uint8", 4, 224, 224, 3], ["uint8", 4, 224, 224, 3], ["float32", 4, 3], ["float32", 4, 3, 2]]], got


def test_a_format_of_ones_own_is_read(run):
    assert run("A format") == [["step", ["uint8", n, 64, 64, 3], ["int64", n]] for n in (4, 4, 2)]


def test_an_iterable_of_ones_own_is_read(run):
    assert run("A format | 2") == 2 * [["step", ["uint8", 4, 64, 64, 3], ["int64", 4]]] * 2


def test_the_readmes_loader_runs_on_less(program):
    (block,) = re.findall(r"^## Train on a folder of pictures\n\n```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert '"/data/train"' in block and "range(90)" in block
    got = program(block.replace("/data/train", "imagenet/train").replace("range(90)", "range(2)"))
    assert got == [["step", ["float32", 64, 3, 224, 224], ["int64", 64]]] * 2


def test_a_loader_in_the_shape_of_torchs_trains(run):
    pytest.importorskip("torch")
    assert run("A loader") == []


def test_a_batch_is_mixed_with_itself(run):
    pytest.importorskip("torchvision.transforms.v2")
    got = run("MixUp")
    assert got == [["step", ["float32", 16, 3, 64, 64], ["float32", 16, 4]]] * 4


def test_libtorch_trains_in_cpp(data):
    """The program of docs/recipes.md, where make torch has built it."""
    program = ROOT / "build/examples/train_torch_cpp"
    if not program.exists():
        pytest.skip("libtorch's example is not built: make torch does it")
    done = subprocess.run([program, data / "imagenet/train", "2"], env=blocks.environment(data / "cache"), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and re.fullmatch(r"epoch 0: \d+ of 64 right\nepoch 1: \d+ of 64 right\n", done.stdout), done
    assert subprocess.run([program, data / "nothing"], capture_output=True, text=True, timeout=60).returncode == 1


def test_jax_has_arrays_over_its_devices(run, monkeypatch):
    """Two devices, made of this processor."""
    pytest.importorskip("jax")
    monkeypatch.setenv("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
    assert run("JAX") == [["step", ["float32", 16, 64, 64, 3], ["int32", 16]]] * 4


def test_keras_trains(run):
    pytest.importorskip("tensorflow")
    run("TensorFlow", quiet=False)


def test_lightning_trains(run):
    pytest.importorskip("lightning")
    run("A loader | 2", quiet=False)


def test_hugging_faces_trainer_trains_and_goes_on_from_its_checkpoint(run):
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    run("A loader | 3", quiet=False)
    run("A loader | 3", quiet=False)


def test_hugging_faces_trainer_takes_a_data_set_and_an_image_processor(run):
    pytest.importorskip("transformers")
    pytest.importorskip("datasets")
    pytest.importorskip("torchvision")
    run("A loader | 4", quiet=False)
