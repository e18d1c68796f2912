"""The Go programs behind the comparisons (tests/exact/tool): each takes one request a line and answers with a row."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


# The steps of core/media, by the names of their types or of what happens by chance.
STEPS = ("Flip VFlip Quarters Rotation Affine Perspective Elastic Augment Jitter Distort Permute Grayscale Blur Solarize Posterize Invert Sharpness Autocontrast Equalize Noise JPEG ZoomOut IoUCrop Light Gamma "
         "CV2Gray CV2Affine HSV RGBShift CV2Jitter BoxBlur Median CV2Blur Motion Holes CLAHE Transpose Sharpen Emboss Sepia ToneCurve DropChannels CV2Equalize Optical CV2Elastic GridDistortion Piecewise CV2Perspective GridHoles Specks "
         "Downscale Remap Multiply Unsharp Shuffle Morph ISO CV2Autocontrast Salt Planckian Erasing Shadow AdvancedBlur Defocus Ringing Glass ZoomBlur Fog Rain Snow Flare Shot PCA Cut CutBorders CutSides CutSafely CutAround CutResized Rescale").split()


def placed(config, order=(), ahead=0, resized=0, by_torch=()):
    """A configuration whose steps are given by name with the lists that core/media has them in: first those of order, the first of which are ahead of the
    geometry or behind a resize, and then the others as they stand in STEPS."""
    names = [*order, *(name for name in STEPS if name not in order)]
    steps = [{name: config[name], **({"ByTorch": True} if name in by_torch else {})} for name in names if name in config]
    lists = dict(Ahead=steps[:ahead], Resized=steps[ahead:ahead + resized], Steps=steps[ahead + resized:])
    return {key: value for key, value in (config | lists).items() if key not in STEPS and value != []}


class RowError(Exception):
    def __init__(self, answer):
        super().__init__(answer["error"])
        self.cause = answer.get("cause")


class Tool:
    """A process of one of them, built with these tags."""

    def __init__(self, name, folder, tags=""):
        binary = folder / f"{name}{tags}"
        subprocess.run(["go", "build", "-tags", tags, "-o", binary, f"./tests/exact/{name}"], cwd=ROOT, check=True)
        self.process = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, path, config, draw, **more):
        """What is said of the row, and its bytes."""
        request = dict(path=str(path), config=config, draw=draw or {}, **more)
        self.process.stdin.write(json.dumps(request).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if answer.get("error"):
            raise RowError(answer)
        return answer, self.process.stdout.read(answer["bytes"])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(10) == 0
        self.process.stdout.close()
