"""Lightning, Hugging Face's Trainer, accelerate, Ray Train and a loop over DistributedDataParallel train from spdl.DataLoader: every sample once an epoch, over
all ranks and, but of Ray's and accelerate's, over a resume in the middle of an epoch. make exact brings transformers and accelerate; lightning and ray nobody installs here: pip install lightning ray, beside torch."""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
torch = pytest.importorskip("torch", reason="torch is not installed")

ROOT = pathlib.Path(__file__).resolve().parents[2]
N, N_VAL, BATCH = 40, 13, 4

# A picture is one grey, which is its number. What a loop is given it writes down, with its epoch.
PRELUDE = """
import json, os, sys
import spdl, torch

torch.version.cuda = "13.0"  # as which torchaudio loads, which transformers looks at

resume = sys.argv[1] if len(sys.argv) > 1 else None
rank = int(os.environ.get("RANK", 0))

def spec(split, **more):
    return {"source": {"folder": split}, "batch": 4, "image": {"transform": [{"resize": [8, 8]}], "layout": "NCHW"}, **more}

def note(what, epoch, images):
    with open(f"seen-{what}-{rank}", "a") as file:
        file.write(json.dumps([epoch, images[:, 0, 0, 0].tolist()]) + "\\n")

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(192, 2)

    def forward(self, x):
        return self.linear(x.float().flatten(1) / 255)
"""

LIGHTNING = """
import lightning
from lightning.pytorch.callbacks import ModelCheckpoint

class Data(lightning.LightningDataModule):
    def train_dataloader(self):
        return spdl.DataLoader(spec("train"))

    def val_dataloader(self):
        return spdl.DataLoader(spec("val", order={"shuffle": False}), restart=True)

class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def training_step(self, batch, i):
        global rank
        rank = self.global_rank
        note("train", self.current_epoch, batch[0])
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, i):
        note("sanity" if self.trainer.sanity_checking else "val", self.current_epoch, batch[0])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

steps = {"max_epochs": 4} if resume else {"max_steps": STEPS}
trainer = lightning.Trainer(accelerator="cpu", devices=RANKS, strategy="ddp" if RANKS > 1 else "auto", logger=False, enable_progress_bar=False, **steps,
                            callbacks=[ModelCheckpoint(dirpath="kept", filename="{step}", every_n_train_steps=STEPS - 1, save_top_k=-1)])
trainer.fit(Model(), Data(), ckpt_path=f"kept/step={STEPS - 1}.ckpt" if resume else None)
"""

HUGGING_FACE = """
import transformers

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, pixel_values, labels):
        note("train" if self.training else "val", train.loader.epoch if self.training else 0, pixel_values)
        logits = self.net(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

class Trainer(transformers.Trainer):
    def get_train_dataloader(self):
        return self.train_dataset

    def get_eval_dataloader(self, eval_dataset=None):
        return self.eval_dataset

class SaveLoader(transformers.TrainerCallback):
    def on_save(self, args, state, control, train_dataloader=None, **kwargs):
        if state.is_world_process_zero:
            with open(f"{args.output_dir}/checkpoint-{state.global_step}/loader.json", "w") as file:
                json.dump(train_dataloader.state_dict(), file)

fields, kept = {"pixel_values": "image", "labels": "label"}, f"kept/checkpoint-{STEPS - 1}"
train = spdl.DataLoader(spec("train"), fields, copy=ACCUMULATE > 1)
val = spdl.DataLoader(spec("val", order={"shuffle": False, "last": "pad"}), fields, restart=True)
if resume:
    with open(f"{kept}/loader.json") as file:
        train.load_state_dict(json.load(file))
args = transformers.TrainingArguments("kept", num_train_epochs=4, max_steps=-1 if resume else STEPS, eval_strategy="no" if not resume else "epoch", save_strategy="steps",
                                      save_steps=STEPS - 1, report_to=[], use_cpu=True, disable_tqdm=True, ignore_data_skip=True, gradient_accumulation_steps=ACCUMULATE)
trainer = Trainer(Model(), args, train_dataset=train, eval_dataset=val, callbacks=[SaveLoader()])
trainer.train(resume_from_checkpoint=kept if resume else None)
"""

# A data set of theirs and an image processor are a loader in one word, whose batches their own models take.
PROCESSOR = """
import datasets, transformers

def data(split):
    paths = sorted(os.path.join(at, name) for at, _, names in os.walk(split) for name in names)
    return datasets.Dataset.from_dict({"image": paths, "label": [path.split(os.sep)[-2] for path in paths]}).cast_column("image", datasets.Image()).class_encode_column("label")

class Trainer(transformers.Trainer):
    def get_train_dataloader(self):
        return self.train_dataset

    def get_eval_dataloader(self, eval_dataset=None):
        return self.eval_dataset

def seen(model, args, batch):
    note("train" if model.training else "val", train.loader.epoch if model.training else 0, (batch["pixel_values"] * 255).round())

processor = transformers.ViTImageProcessor(size={"height": 8, "width": 8}, do_normalize=False)
train = spdl.DataLoader(data("train"), transform=processor, batch_size=4, shuffle=True)
val = spdl.DataLoader(data("val"), transform=processor, batch_size=4)
config = transformers.ViTConfig(image_size=8, patch_size=4, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, num_labels=len(train.classes))
args = transformers.TrainingArguments("kept", num_train_epochs=2, eval_strategy="epoch", save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True)
model = transformers.ViTForImageClassification(config)
model.register_forward_pre_hook(seen, with_kwargs=True)
trainer = Trainer(model, args, train_dataset=train, eval_dataset=val)
trainer.train()
assert trainer.state.global_step == 20 and [entry["epoch"] for entry in trainer.state.log_history if "eval_loss" in entry] == [1, 2]
"""

ACCELERATE = """
import accelerate

accelerator = accelerate.Accelerator(cpu=True)
net = Net()
net, optimizer, train, val = accelerator.prepare(net, torch.optim.SGD(net.parameters(), 0.01), spdl.DataLoader(spec("train")),
                                                 spdl.DataLoader(spec("val", order={"shuffle": False, "last": "pad"}), restart=True))
for epoch in range(2):
    for images, labels in train:
        note("train", epoch, images)
        accelerator.backward(torch.nn.functional.cross_entropy(net(images), labels))
        optimizer.step()
        optimizer.zero_grad()
    for images, labels in val:
        note("val", epoch, images)
        assert len(accelerator.gather_for_metrics(labels)) == 4 * RANKS
"""

# Processes that nobody but init_process_group tells their rank.
SPAWN = """
import torch.distributed as dist

def work(number):
    global rank
    rank = number
    early = spdl.DataLoader(spec("train"))
    dist.init_process_group("gloo", init_method=f"file://{os.path.abspath('meeting')}", rank=rank, world_size=RANKS)
    try:
        next(iter(early))
    except spdl.ArgumentError as error:
        assert f"rank {rank} of {RANKS}" in str(error)
    else:
        raise AssertionError("a loader of all samples gave them to each rank")
    train = spdl.DataLoader(spec("train"))
    for epoch in range(2):
        for images, labels in train:
            note("train", epoch, images)
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, nprocs=RANKS)
"""

RAY = """
import ray
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

here = os.getcwd()

def work(config):
    global rank
    os.chdir(here)
    rank = ray.train.get_context().get_world_rank()
    train = spdl.DataLoader(spec("train"))
    for epoch in range(2):
        for images, labels in train:
            note("train", epoch, images)

ray.init(num_cpus=RANKS, include_dashboard=False)
TorchTrainer(work, scaling_config=ScalingConfig(num_workers=RANKS, resources_per_worker={"CPU": 1}), run_config=RunConfig(storage_path=os.path.join(here, "kept"))).fit()
"""

# As torchvision's references have it, with its question for the number of samples.
LOOP = """
import torch.distributed as dist

if RANKS > 1:
    dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(Net()) if RANKS > 1 else Net()
optimizer = torch.optim.SGD(net.parameters(), 0.01)
train, val = spdl.DataLoader(spec("train")), spdl.DataLoader(spec("val", order={"shuffle": False}), restart=True)
assert (len(train.dataset), len(val.dataset)) == (40, 13)
state = {"epoch": 0, "step": 0}
if resume:
    with open("kept") as file:
        state = json.load(file)
    train.load_state_dict(state["data"])
for epoch in range(state["epoch"], 4 if resume else 2):
    train.set_epoch(epoch)
    for images, labels in train:
        note("train", epoch, images)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
        state["step"] += 1
        if state["step"] == STEPS - 1 and not resume and rank == 0:
            with open("kept", "w") as file:
                json.dump({"epoch": epoch, "step": state["step"], "data": train.state_dict()}, file)
        if state["step"] == STEPS and not resume:
            sys.exit()
    for images, labels in val:
        note("val", epoch, images)
"""


@pytest.fixture
def folder(tmp_path):
    for split, n in (("train", N), ("val", N_VAL)):
        for i in range(n):
            path = tmp_path / split / "ab"[i % 2] / f"{i:03d}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (12, 10), (i, i, i)).save(path)
    return tmp_path


def run(folder, program, ranks, *args, launcher=True, **constants):
    """What each rank saw, by kind: [epoch, samples] of each batch."""
    said = "".join(f"{name} = {value}\n" for name, value in {"RANKS": ranks, **constants}.items())
    (folder / "program.py").write_text(PRELUDE + said + program)
    for old in folder.glob("seen-*"):
        old.unlink()
    build = pathlib.Path(os.environ.get("SPDL_BUILD") or ROOT / "build")
    env = {**os.environ, "PYTHONPATH": str(ROOT / "clients/python"), "SPDL_LIBRARY": str(build / "libspdl.so"), "SPDL_ENGINE": str(build / "spdl"), "OMP_NUM_THREADS": "1"}
    torchrun = ["-m", "torch.distributed.run", "--nproc_per_node", str(ranks)] if launcher and ranks > 1 else []
    done = subprocess.run([sys.executable, *torchrun, "program.py", *args], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    seen = collections.defaultdict(list)
    for path in sorted(folder.glob("seen-*")):
        seen[path.name.split("-")[1]].append([json.loads(line) for line in path.read_text().splitlines()])
    return seen


def epochs(*parts):
    """The samples of each epoch, sorted, of batches by rank."""
    found = collections.defaultdict(list)
    for ranks in parts:
        for batches in ranks:
            for epoch, samples in batches:
                found[epoch] += samples
    return {epoch: sorted(samples) for epoch, samples in sorted(found.items())}


EACH_ONCE = list(range(N))


@pytest.mark.parametrize("ranks, launcher", [(1, False), (2, True), (2, False)], ids=["one", "torchrun", "its own launcher"])
def test_lightning(folder, ranks, launcher):
    pytest.importorskip("lightning", reason="lightning is not installed")
    check_resumed(folder, LIGHTNING, ranks, launcher=launcher)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("accumulate", [1, 5])
def test_hugging_faces_trainer(folder, ranks, accumulate):
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    check_resumed(folder, HUGGING_FACE, ranks, accumulate=accumulate)


def test_hugging_faces_trainer_with_a_data_set_and_an_image_processor(folder):
    for name in ("transformers", "accelerate", "datasets"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    seen = run(folder, PROCESSOR, 1)
    assert epochs(seen["train"]) == {0: EACH_ONCE, 1: EACH_ONCE}
    assert epochs(seen["val"]) == {0: sorted(2 * list(range(N_VAL)))}


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_loop_of_ones_own(folder, ranks):
    check_resumed(folder, LOOP, ranks)


def test_ray_trains_workers_are_ranks(folder):
    pytest.importorskip("ray", reason="ray is not installed")
    seen = run(folder, RAY, 2, launcher=False)
    assert epochs(seen["train"]) == {0: EACH_ONCE, 1: EACH_ONCE}
    assert len(seen["train"]) == 2


def test_ranks_that_only_torch_distributed_knows_have_each_a_part(folder):
    seen = run(folder, SPAWN, 2, launcher=False)
    assert epochs(seen["train"]) == {0: EACH_ONCE, 1: EACH_ONCE}
    assert all(len(batches) == 2 * N // BATCH // 2 for batches in seen["train"])


def check_resumed(folder, program, ranks, accumulate=1, launcher=True):
    """A run that ends one step after its checkpoint, early in epoch 1, and one that goes on from that."""
    per_epoch = N // BATCH // ranks
    steps = per_epoch // accumulate + 2  # the checkpoint lies a step, and as many batches as that takes, within epoch 1
    constants = {"STEPS": steps, "ACCUMULATE": accumulate, "launcher": launcher}
    first = run(folder, program, ranks, **constants)
    kept = (steps - 1) * accumulate
    rest = run(folder, program, ranks, "resume", **constants)
    assert epochs([batches[:kept] for batches in first["train"]], rest["train"]) == {epoch: EACH_ONCE for epoch in range(4)}
    for samples in epochs(first["val"], rest["val"]).values():
        assert set(samples) == set(range(N_VAL)), "in epochs that validate, all of it"


@pytest.mark.parametrize("ranks", [1, 2])
def test_accelerate_prepares_it_by_leaving_it_as_it_is(folder, ranks):
    pytest.importorskip("accelerate", reason="accelerate is not installed")
    seen = run(folder, ACCELERATE, ranks)
    assert epochs(seen["train"]) == {0: EACH_ONCE, 1: EACH_ONCE}
    assert all(set(samples) == set(range(N_VAL)) for samples in epochs(seen["val"]).values())
