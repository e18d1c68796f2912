"""What the pages say that no other test holds: their blocks of code run, or compile, and their links lead somewhere."""

from __future__ import annotations

import functools
import re
import subprocess
import textwrap

import blocks
import pytest
from conftest import ROOT

pytest.importorskip("numpy")
pytest.importorskip("PIL")

PAGES = [page for pattern in ("*.md", "docs/*.md", "examples/*.md", "examples/spdl/*.md", "bench/**/*.md") for page in sorted(ROOT.glob(pattern))]

# Films and sounds under the names that the pages of media have, made once.
FILES = """
import pathlib
import numpy as np
import spdl.io

y, x = np.mgrid[0:240, 0:320]
clip = np.stack([np.stack([(x + 3 * i) % 256, (y + i) % 256, (x + y) % 256], axis=-1) for i in range(100)]).astype(np.uint8)
wave = np.float32(0.3) * np.sin(np.arange(48000 * 4, dtype=np.float32) / 20)[None].repeat(2, 0)
for name in ("clip", "left", "right", "two_hours", "a", "talk"):
    spdl.io.save_video(f"{name}.mp4", clip, frame_rate=30, audio=wave, sample_rate=48000)
spdl.io.save_audio("speech.flac", wave, sample_rate=48000)
spdl.io.save_image("page.png", clip[0])
np.savez("features.npz", a=np.arange(3))
pathlib.Path("kinetics/train/run").mkdir(parents=True)
for i in range(16):
    spdl.io.save_video(f"kinetics/train/run/{i}.mp4", clip[:70, :120, :160], frame_rate=30)
chapter = pathlib.Path("LibriSpeech/train-clean-100/1/2")
chapter.mkdir(parents=True)
(chapter / "1-2.trans.txt").write_text("1-2-0001 HELLO WORLD\\n1-2-0002 THERE\\n")
"""

# What a block takes for granted.
MEDIA = """
import pathlib
import numpy as np
import spdl
import spdl.io

def work(*given): seen.append([one.shape for one in given])
seen = []
train = work
clip = spdl.io.load_video("clip.mp4").numpy()
wave = spdl.io.load_audio("speech.flac").numpy()
picture, frames, others, times = clip[0], clip[:20], clip[20:40], [k / 30 for k in range(20)]
jpeg_bytes = pathlib.Path("page.png").read_bytes()
paths = ["page.png", "nothing.jpg", "page.png"]
"""


def found(page: str, language: str) -> dict[int, str]:
    """The blocks of a page by the number of the line that begins each."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return {text.count("\n", 0, block.start()) + 1: block[1] for block in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)}


def one(page: str, begins: str, language: str = "python") -> str:
    """The block of a page that begins so."""
    (block,) = [block for block in found(page, language).values() if block.startswith(begins)]
    return block


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pages")
    (directory / "made.py").write_text(FILES)
    blocks.execute(directory / "made.py", directory, directory / "cache")
    return directory


@pytest.fixture
def program(files, runtime):
    """Run a program where the files are; what it printed."""
    def program(text: str, quiet: bool = True) -> str:
        (files / "block.py").write_text(text)
        (printed,) = blocks.execute(files / "block.py", files, files / "cache", quiet=quiet)
        return printed
    return program


# ---- the pages of media: images, transforms, video, audio, io

OF_MEDIA_PAGES = [f"docs/{name}.md" for name in ("media", "images", "transforms", "video", "audio", "io")]

# The first words of each block, and what holds when it has run.
OF_MEDIA = {
    'with spdl.open("kinetics.yaml")': "assert seen == [[(16, 3, 16, 112, 112), (16,)]] and when.shape == (16,) and (np.diff(when) > 0).all()",
    "from pathlib import Path": 'assert Path("train-clean-100.tsv").read_text().splitlines()[1:] == [f"train-clean-100/1/2/1-2-000{i}.flac\\t{said}" for i, said in ((1, "HELLO WORLD"), (2, "THERE"))]',
    'clip = spdl.io.load("talk.mp4"': "assert abs(sound.shape[1] - round(48000 * 9 / 30)) <= 1",
    'wave = spdl.io.load_audio("speech.flac"': """
assert wave.shape == (2, 64000) and clip.shape == (60, 240, 320, 3) and some.shape == (3, 112, 112, 3) and rate == 48000
assert [shapes[0][0] for shapes in seen] == [64, 36] and image.shape == (3, 240, 320) and tiles.shape[1:] == (448, 448, 3) and table["a"].shape == (3,)
assert 33 <= grey.shape[0] <= 34, grey.shape  # 3.33 s, ten a second
""",
    "packets = spdl.io.demux_video": """
assert frames.shape == (60, 240, 320, 3) and (frames.numpy() == clip[30:90]).all() and some.shape == (2, 240, 320, 3) and packets.codec.name == "h264"
""",
    "demuxer = spdl.io.Demuxer": "assert [shapes[0] for shapes in seen] == [(32, 112, 112, 3)] * 3 + [(4, 112, 112, 3)]",
    'codec = spdl.io.Demuxer("left.mp4")': """
wide = [wide] if wide is not None else []
while (more := graph.get_frames(key="buffersink@wide")) is not None:
    wide.append(more)
assert np.concatenate([some.numpy() for some in wide]).shape == (20, 240, 640, 3)
""",
    "batch = spdl.io.load_image_batch": 'assert batch.rows == [0, 2] and list(batch.failures) == [1]',
    'spdl.io.save_audio("a.wav"': """
assert (spdl.io.load_image("a.png").numpy() == picture).all() and (spdl.io.load_image("frame-000099.png").numpy() == clip[99]).all()
assert spdl.io.load_video("a.mp4").shape == clip.shape and spdl.io.load_video(data).shape == clip.shape
""",
    'demuxer, muxer = spdl.io.Demuxer("a.mp4")': 'assert (spdl.io.load_video("b.mkv").numpy() == spdl.io.load_video("a.mp4").numpy()).all() and spdl.io.load_audio("b.mkv").shape == wave.shape',
}
KINETICS = "source: {folder: /data/kinetics/train}"


def of_media(begins: str) -> str:
    """The block of Python of these pages that begins so."""
    (block,) = [block for page in OF_MEDIA_PAGES for block in found(page, "python").values() if block.startswith(begins)]
    return block


@pytest.mark.parametrize("begins", OF_MEDIA)
def test_a_block_of_the_pages_of_media_runs(program, files, begins):
    (files / "kinetics.yaml").write_text(one("docs/video.md", KINETICS, "yaml").replace("/data/", "").replace("batch: 16", "batch: 16\norder: {epochs: 1}"))
    program(MEDIA + of_media(begins) + "\n" + OF_MEDIA[begins], quiet=not begins.startswith("batch = "))


def test_pictures_of_their_own_size_are_as_the_page_of_images_says(program):
    ring = 'with spdl.open({"source": {"list": "pictures.txt", "labels": "none"}, "batch": 2, "image": {"shape": "%s", "layout": "%s", "room": [300, 400]}}) as loader:\n'
    padded, ragged = (block for block in found("docs/images.md", "python").values() if block.startswith("for batch in loader:"))
    text = MEDIA + 'pathlib.Path("pictures.txt").write_text("page.png\\npage.png\\n")\n' + ring % ("padded", "NCHW") + textwrap.indent(padded, "    ")
    text += '        assert batch["image"].shape == (2, 3, 240, 320) and extent.tolist() == [[240, 320]] * 2\n'
    text += ring % ("ragged", "NHWC") + "    i = 1\n" + textwrap.indent(ragged, "    ") + '        assert (batch["image"][i] == spdl.io.load_image("page.png").numpy()).all() and batch["extent"].tolist() == [[240, 320]] * 2\n'
    program(text)


def test_every_block_of_the_pages_of_media_is_tried_here():
    said = [block.partition("\n")[0] for page in OF_MEDIA_PAGES for block in found(page, "python").values()]
    assert all(sum(line.startswith(begins) for line in said) == 1 for begins in OF_MEDIA), said
    assert len(said) == len(OF_MEDIA) + 2, said


def sections(page: str) -> list[str]:
    """The sections `image` and `video` that a page writes in a line of YAML, one a description: those of whole pictures and videos, and of blocks of transforms each as one of images."""
    parts = [block.splitlines() for block in found(page, "yaml").values()]
    written = [line for lines in parts for line in lines if re.match("(image|video): *{(?!from)", line)]
    alone = [lines for lines in parts if all(line.startswith("  transform: [") for line in lines)]
    return written + ["image: {" + line.partition("#")[0].strip() + "}" for lines in alone for line in lines]


@pytest.mark.parametrize("page", ["images", "transforms"])
def test_a_transform_of_the_pages_is_a_description(page, files, tmp_path):
    wrong, every = [], sections(f"docs/{page}.md")
    for number, section in enumerate(every):
        description = tmp_path / f"{number}.yaml"
        description.write_text(f"source: {{list: {tmp_path}/list.txt, labels: none}}\nbatch: 1\n{section}\n")
        (tmp_path / "list.txt").write_text(f"{files}/page.png\n")
        done = subprocess.run([blocks.built("spdl"), "check", description], capture_output=True, text=True)
        if done.returncode:
            wrong.append((section, done.stderr or done.stdout))
    assert not wrong
    assert len(every) >= 5


def test_every_step_has_its_place_on_the_page_of_transforms():
    text = (ROOT / "docs/transforms.md").read_text(encoding="utf-8")
    table = text.partition("## Every operation")[2].partition("## Where steps may stand")[0]
    keys = set(re.findall(r"^\| `image\.transform\[\]\.(\w+)` \|", (ROOT / "docs/spec.md").read_text(encoding="utf-8"), re.M))
    assert len(keys) > 60 and sorted(key for key in keys if f"`{key}`" not in table) == []


def test_pages_that_messages_name_are_there():
    """Of the sources of the engine and the clients."""
    named = {(path.relative_to(ROOT), page, anchor) for pattern in ("core/**/*.go", "cmd/**/*.go", "clients/python/spdl/**/*.py", "include/**/*.h", "clients/cpp/**/*.hpp") for path in ROOT.glob(pattern)
             for page, anchor in re.findall(r"\bdocs/([\w-]+\.md)(?:#([a-z0-9-]+))?", path.read_text(encoding="utf-8"))}
    assert len(named) > 20
    assert sorted(str(one) for one in named if not (ROOT / "docs" / one[1]).exists() or (one[2] and one[2] not in anchors(ROOT / "docs" / one[1]))) == []


# ---- README, docs/tables.md, docs/sources.md, docs/migrate-from-dataloader.md


def test_the_readmes_pipeline_runs(program):
    block = one("README.md", "from spdl.pipeline import PipelineBuilder")
    program("paths, got = range(70), []\nread = decode = int\ntrain = got.append\n" + block + "\nassert [len(batch) for batch in got] == [32, 32, 6] and sorted(sum(got, [])) == list(paths), got\n")


def test_a_table_of_arrays_is_written_as_the_page_of_tables_says(program):
    check = """
import pathlib
import spdl
spec = {"source": {"list": "train.npz", "columns": [{"name": "boxes", "type": "list", "dtype": "f32", "shape": [-1, 4], "max_length": 9}]}, "batch": 2, "order": {"shuffle": False, "epochs": 1},
        "image": {"transform": [{"resize": [8, 8]}]}}
for name in paths:
    pathlib.Path(name.decode()).write_bytes(pathlib.Path("page.png").read_bytes())
with spdl.open(spec) as loader:
    (got,) = [(batch["label"].tolist(), [len(batch["boxes"][i]) for i in range(2)]) for batch in loader]
assert got == ([0, 1], [3, 0]), got
"""
    program("import numpy as np\n" + one("docs/tables.md", "paths, boxes = ") + check)


SOURCES = """
import pathlib
import numpy as np
import spdl
picture = pathlib.Path("page.png").read_bytes()
got = []
"""


def test_samples_of_ones_own_are_as_the_page_of_sources_says(program):
    resized = '"image": {"transform": [{"resize": [8, 8]}]}'
    block = one("docs/sources.md", "class Mine:").replace('"image": {...}', resized).replace("1_000_000", "100")
    program(SOURCES + "read_my_archive, label_of, name_of, train = lambda i: picture, lambda i: i, str, lambda batch: got.extend(zip(batch['label'].tolist(), batch.sample_keys))\n" + block +
            "\nassert sorted(got) == [(i, str(i)) for i in range(100)], got\n")
    block = one("docs/sources.md", "class Archive:").replace('"image": {...}', resized).replace("loader: ...", "loader:\n    got = [batch.sample_keys for batch in loader]")
    program(SOURCES + "def my_archive(): return [(f'{i}.png', picture) for i in range(3)]\n" + block + "\nassert got == [['0.png', '1.png', '2.png']], got\n")
    block = one("docs/sources.md", 'spec = {"batch": 64, "source": {"columns": [{"name": "latents"').replace("loader: ...", "loader:\n    got = [(batch['latents'].shape, batch['ids'].shape) for batch in loader]")
    program(SOURCES + "dataset = [{'latents': np.zeros((4, 64, 64), np.float32), 'ids': np.arange(i + 1)} for i in range(3)]\n" + block + "\nassert got == [((3, 4, 64, 64), (3, 3))], got\n")


def test_the_loader_beneath_is_as_the_page_for_dataloaders_says(program):
    """One and two rings, and tasks of asyncio."""
    page = "docs/migrate-from-dataloader.md"
    start = """
import asyncio, pathlib, spdl
for folder in ("train/cat", "val/cat"):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for i in range(5):
        pathlib.Path(folder, f"{i}.png").write_bytes(pathlib.Path("page.png").read_bytes())
"""
    single = 'spec = {"source": {"folder": "train"}, "batch": 2, "order": {"epochs": 1}, "image": {"transform": [{"resize": [8, 8]}]}}\n'
    assert program(start + single + one(page, "with spdl.open(spec) as loader:") + "assert images.shape == (1, 8, 8, 3) and len(names) == len(where) == 1 and names[0].startswith('cat/')\n") == "0 0 2 0\n0 1 2 0\n0 2 1 0\n"
    two = one(page, 'spec = {"source": {"folder": "train"}')
    program(start + two + "with train, val:\n    assert [next(iter(loader))['image'].shape for loader in (train, val)] == [(5, 224, 224, 3)] * 2\n")
    tasks = one(page, "async def worker(loader, model):")
    program(start + single + tasks + "got = []\nasync def model(images):\n    got.append(len(images))\n    await asyncio.sleep(0)\nasyncio.run(main())\nassert sorted(got) == [1, 2, 2], got\n")


def test_fields_of_the_loader_are_as_the_page_for_dataloaders_says(program):
    pytest.importorskip("torch")
    lines = one("docs/migrate-from-dataloader.md", "spdl.DataLoader(spec, fields=").splitlines()
    text = MEDIA + """
spec = {"source": {"list": "t.jsonl", "columns": ["caption"]}, "batch": 2, "image": {"transform": [{"resize": [8, 8]}]}}
pathlib.Path("t.jsonl").write_text('{"path": "page.png", "label": 1, "caption": "a"}\\n' * 2)
def shown(loader):
    with loader:
        return next(iter(loader))
"""
    text += "got = [" + ", ".join(f"shown({line.partition('  #')[0].strip()})" for line in lines) + "]\n"
    program(text + "assert list(got[1]) == ['pixel_values', 'labels'] and got[2].dtype.is_floating_point and got[3][1] == ['a', 'a'] and isinstance(got[4][0], np.ndarray)\n")


# ---- C and C++

COMPILED = {
    ("README.md", "cpp", "for (spdl::Batch batch"): ("#include <spdl/spdl.hpp>\nvoid step(const uint8_t *, const int64_t *);\nvoid block() {\n", "}\n"),
    ("README.md", "c", "spdl_reader *reader;"): ('#include "spdl.h"\nvoid die(const char *);\nvoid step(const void *, const int64_t *);\nvoid block(void);\nvoid block(void) {\n', "}\n"),
    ("README.md", "cpp", "#include <spdl/pipeline.hpp>"): ("#include <optional>\n#include <string>\n#include <vector>\nstruct Image {};\nstd::optional<std::string> next_path();\nImage load(const std::string &);\nvoid use(const std::vector<Image> &);\n|void block() {\n", "}\n"),
    ("docs/io.md", "c", "spdl_loaded *sound"): ('#include "spdl.h"\nvoid use(const void *, const int64_t *);\nvoid block(void);\nvoid block(void) {\n', "}\n"),
    ("docs/pipeline.md", "cpp", "spdl::Pipeline<Row> rows"): ("#include <spdl/pipeline.hpp>\nstruct File { bool is_jpeg; };\nstruct Row {};\nstd::optional<File> photos();\nstd::optional<File> scans();\nRow decode_jpeg(const File &);\nRow decode_other(const File &);\nvoid block() {\n", "}\n"),
}


@pytest.mark.parametrize("at", COMPILED, ids=lambda at: f"{at[0]}: {at[2]}")
def test_a_block_of_c_or_cpp_compiles(at, tmp_path):
    page, language, begins = at
    before, after = COMPILED[at]
    block = one(page, begins, language)
    before, _, opens = before.partition("|")
    includes, rest = "\n".join(re.findall(r"^#include.*$", block, re.M)), re.sub(r"^#include.*\n", "", block, flags=re.M)
    source = tmp_path / f"block.{language}"
    source.write_text(f"{includes}\n{before}{opens}{rest}{after}")
    compiler = ["c++", "-std=c++17"] if language == "cpp" else ["cc", "-std=c11"]
    done = subprocess.run([*compiler, "-Wall", "-Wextra", "-fsyntax-only", f"-I{ROOT}/include", f"-I{ROOT}/clients/cpp/include", source], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ---- links


@functools.cache
def prose(page) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


@functools.cache
def anchors(page) -> set[str]:
    """The names that GitHub gives headings; of the same ones the second has -1 behind it."""
    names: list[str] = []
    for heading in re.findall(r"^#{1,6} (.*?)\s*$", prose(page), re.M):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return set(names)


def dead(page) -> list[str]:
    """What the page links to and is not there."""
    out = []
    for to in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match("[a-z]+:", to):
            continue
        file, _, anchor = to.partition("#")
        target = page.parent / file if file else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            out.append(f"{page.relative_to(ROOT)} -> {to}")
    return out


def test_links_of_the_pages_lead_somewhere():
    assert sum(len(re.findall(r"\]\([^)\s]+\.md#", prose(page))) for page in PAGES) > 50
    assert [link for page in PAGES for link in dead(page)] == []


def test_verbs_and_flags_that_pages_name_are_there():
    """Where the command is written with its flags in a line."""
    spdl = blocks.built("spdl")
    help = functools.cache(lambda *verb: subprocess.run([spdl, *verb, "--help"], capture_output=True, text=True, check=True).stdout)
    verbs = re.findall(r"^  (\w+) {2,}", help().partition("Available Commands:")[2].partition("Flags:")[0], re.M)
    named = [(page, verb, flag) for page in PAGES for verb, rest in re.findall(r"\bspdl ([a-z]+)\b([^\n`]*)", page.read_text(encoding="utf-8")) if verb in verbs
             for flag in re.findall(r"(?<!\S)--[a-z][a-z-]*", rest)]
    assert len({(verb, flag) for _, verb, flag in named}) > 10
    assert [f"{page.name}: spdl {verb} {flag}" for page, verb, flag in named if not re.search(rf"{flag}\b", help(verb))] == []
