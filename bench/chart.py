"""Draws the README's picture of speeds, docs/img/speed.svg, from bench/results/*.json; nothing is measured here.

    python3 bench/chart.py [--check]

A bar is a contender's rate as a share of spdl's in the same run, so that runs of different hours may stand in one picture. With --check
nothing is written: an error says that the picture is not that of the results.
"""

import argparse
import json
import pathlib
import sys
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "img" / "speed.svg"
PANELS = (
    ("eval/f32", ("peers-eval", "peers-others"), "Evaluation: resize, crop, normalise to f32"),
    ("train/u8", ("peers-train", "peers-others"), "Training: random crop and flip, u8"),
)
NAMES = {
    "spdl": "spdl, Python consumer",
    "ffcv": "FFCV, its own JPEGs",
    "opencv": "OpenCV, not antialiased",
    "torch_io": "DataLoader + torchvision.io",
    "torch_pillow": "DataLoader + Pillow",
    "meta_spdl": "Meta's SPDL",
}
WIDTH, LABELS, BAR, STEP = 860, 230, 380, 26
OURS, THEIRS, INK, FAINT, PAPER = "#2f6fb7", "#c4c9cf", "#1c1f23", "#5c6570", "#ffffff"


def panel(lane, files):
    """[(name, images/s, share of spdl's rate, times as fast spdl is)] of the contenders, the fastest first, and spdl's own row."""
    rows = {}
    for file in files:
        for row in json.loads((ROOT / "bench" / "results" / f"{file}.json").read_text())["lanes"][lane]:
            if row["name"] in NAMES and row["name"] not in rows:
                times = row.get("spdl_speed_over_this", [1, 1, 1])[1]
                rows[row["name"]] = (row["name"], row["images_per_second"][1], 1 / times, times)
    return sorted(rows.values(), key=lambda row: -row[2])


def text(x, y, what, fill=INK, size=13, anchor="start", weight="normal"):
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{escape(what)}</text>'


def drawn():
    out, y = [], 34
    machine = json.loads((ROOT / "bench" / "results" / "peers-train.json").read_text())["machine"].rsplit(",", 1)[0]
    out.append(text(24, y, "Pictures a second, from JPEGs to batches of 224 x 224", size=17, weight="bold"))
    out.append(text(24, y + 21, f"{machine}; 2,000 ImageNet-like JPEGs, two workers each; medians; a bar is a share of spdl's rate in the same run", FAINT, 12))
    y += 56
    for lane, files, title in PANELS:
        out.append(text(24, y, title, size=13, weight="bold"))
        y += 12
        for name, rate, share, times in panel(lane, files):
            ours = name == "spdl"
            out.append(text(LABELS, y + 15, NAMES[name], anchor="end", weight="bold" if ours else "normal"))
            out.append(f'<rect x="{LABELS + 10}" y="{y + 2}" width="{BAR * share:.1f}" height="{STEP - 8}" rx="2" fill="{OURS if ours else THEIRS}"/>')
            out.append(text(f"{LABELS + 18 + BAR * share:.1f}", y + 15, f"{rate:,.0f}" if ours else f"{rate:,.0f}; spdl is {times:.1f} times as fast", INK if ours else FAINT, 12.5))
            y += STEP
        y += 26
    height = y - 16
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" font-family="system-ui, DejaVu Sans, Helvetica, sans-serif" role="img" aria-label="Rates of data loaders side by side">',
        f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8" fill="{PAPER}" stroke="#dfe3e7"/>', *out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="say whether the picture is that of the results")
    if not parser.parse_args().check:
        PICTURE.write_text(drawn())
    elif PICTURE.read_text() != drawn():
        sys.exit(f"{PICTURE.relative_to(ROOT)}: is not drawn from the figures in bench/results as they are; python3 bench/chart.py draws it")


main()
