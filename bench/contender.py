#!/usr/bin/env python3
"""Run one loader over a corpus, once, and print what it reached as a line of JSON.

    contender.py NAME --images DIR --mode eval|train [--dtype f32|u8] [--workers 2] [--passes 2] [--memory]

Every contender yields batches of 32 x 3 x 224 x 224 from the same files:
  eval   shorter side to 256 (bilinear, antialiased unless said otherwise), centre crop 224, normalise, f32
  train  random resized crop 224, horizontal flip, u8 or normalised f32
The clock starts once WARM batches have arrived and stops TAIL batches before the end, while the workers are still there; CPU
seconds are those of the whole process group in the same span. Looking at memory costs CPU time, so --memory is a
run of its own: the peak of the group's summed PSS, and no figures of speed worth quoting.
"""

import argparse
import json
import os
import pathlib
import tarfile
import threading
import time
import zlib

BATCH, SIZE, SHORT, WARM, TAIL = 32, 224, 256, 8, 4
EPOCHS_OF_ROWS = 20  # of spdl_rows for each of the others
BUILD = pathlib.Path(__file__).resolve().parent.parent / "build"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def files_of(root):
    return sorted(str(p) for p in pathlib.Path(root).rglob("*") if p.suffix in (".jpg", ".png"))


ENGINES = set()  # pids of engines that left the process group, as ours does to be spared a terminal's Ctrl-C


def processes():
    """Pids and CPU ticks of this process group, the contender and its workers, and of ENGINES."""
    group = os.getpgrp()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[2]) == group or int(pid) in ENGINES:
            yield int(pid), sum(map(int, fields[11:15]))  # its own and its reaped children's


def cpu_seconds():
    return sum(ticks for _, ticks in processes()) / os.sysconf("SC_CLK_TCK")


def pss_bytes():
    total = 0
    for pid, _ in processes():
        try:
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


class PeakMemory(threading.Thread):
    """Samples the group's PSS twice a second: reading it costs the group CPU time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.stop = 0, threading.Event()

    def run(self):
        while not self.stop.wait(0.5):
            self.peak = max(self.peak, pss_bytes())


# -- torch ---------------------------------------------------------------------------------------


def torch_transform(mode, dtype, pil):
    import torch
    from torchvision.transforms import v2

    crop = [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()] if mode == "train" else [
        v2.Resize(SHORT, antialias=True), v2.CenterCrop(SIZE)]
    to_tensor = [v2.PILToTensor()] if pil else []
    finish = [] if dtype == "u8" else [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    return v2.Compose(crop + to_tensor + finish)


def torch_loader(args, pil):
    import torch
    from torch.utils.data import DataLoader, Dataset
    from torchvision.io import ImageReadMode, decode_image, read_file
    from PIL import Image

    torch.set_num_threads(1)
    files = files_of(args.images) * args.passes

    class Pictures(Dataset):
        def __init__(self):
            self.transform = torch_transform(args.mode, args.dtype, pil)

        def __len__(self):
            return len(files)

        def __getitem__(self, i):
            if pil:
                with Image.open(files[i]) as image:
                    return self.transform(image.convert("RGB")), i
            return self.transform(decode_image(read_file(files[i]), ImageReadMode.RGB)), i

    return DataLoader(Pictures(), batch_size=BATCH, shuffle=args.mode == "train", num_workers=args.workers,
                      worker_init_fn=lambda _: torch.set_num_threads(1))


def run_torch_pillow(args):
    for image, _ in torch_loader(args, pil=True):
        yield image.shape[0]


def run_torch_io(args):
    for image, _ in torch_loader(args, pil=False):
        yield image.shape[0]


# -- Meta SPDL -------------------------------------------------------------------------------------


def run_meta_spdl(args):
    """SPDL's own image path: FFmpeg decode, bicubic filter scale and crop, u8; f32 normalised in NumPy."""
    import numpy as np
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    rng = np.random.default_rng(0)
    crop = f"scale=w='if(gt(iw,ih),-2,{SHORT})':h='if(gt(iw,ih),{SHORT},-2)',crop={SIZE}:{SIZE}"

    def decode(path):
        if args.mode == "train":
            u = rng.random(3)
            side = 0.5 + 0.5 * u[0]
            desc = f"crop=w=iw*{side:.4f}:h=ih*{side:.4f}:x=(iw-ow)*{u[1]:.4f}:y=(ih-oh)*{u[2]:.4f},scale={SIZE}:{SIZE}"
            desc += ",hflip" if rng.random() < 0.5 else ""
        else:
            desc = crop
        packets = spdl.io.demux_image(path)
        return spdl.io.decode_packets(packets, filter_desc=f"{desc},format=pix_fmts=rgb24")

    mean, std = np.float32(MEAN) * 255, np.float32(STD) * 255

    def collate(frames):
        array = spdl.io.to_numpy(spdl.io.convert_frames(frames))
        return array if args.dtype == "u8" else ((array - mean) / std).transpose(0, 3, 1, 2)

    pipeline = (PipelineBuilder().add_source(iter(files_of(args.images) * args.passes))
                .pipe(decode, concurrency=args.workers).aggregate(BATCH).pipe(collate).add_sink(3)
                .build(num_threads=args.workers + 1, use_thread_output_queue=True))
    with pipeline.auto_stop():
        for batch in pipeline:
            yield len(batch)


# -- OpenCV ----------------------------------------------------------------------------------------


def run_opencv(args):
    """cv2.imdecode and cv2.resize (bilinear, not antialiased) in threads."""
    from concurrent.futures import ThreadPoolExecutor

    import cv2
    import numpy as np

    cv2.setNumThreads(1)
    mean, std = np.float32(MEAN) * 255, np.float32(STD) * 255

    def load(job):
        path, row, out, seed = job
        image = cv2.cvtColor(cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)
        h, w = image.shape[:2]
        if args.mode == "train":
            u = np.random.default_rng(seed).random(4)
            ch, cw = int(h * (0.5 + 0.5 * u[0])), int(w * (0.5 + 0.5 * u[0]))
            y, x = int(u[1] * (h - ch)), int(u[2] * (w - cw))
            image = cv2.resize(image[y:y + ch, x:x + cw], (SIZE, SIZE))
            image = image[:, ::-1] if u[3] < 0.5 else image
        else:
            k = SHORT / min(h, w)
            image = cv2.resize(image, (round(w * k), round(h * k)))
            y, x = (image.shape[0] - SIZE) // 2, (image.shape[1] - SIZE) // 2
            image = image[y:y + SIZE, x:x + SIZE]
        out[row] = image.transpose(2, 0, 1) if args.dtype == "u8" else ((image - mean) / std).transpose(2, 0, 1)

    files = files_of(args.images) * args.passes
    kind = np.uint8 if args.dtype == "u8" else np.float32
    with ThreadPoolExecutor(args.workers) as pool:
        pending = []
        for start in range(0, len(files), BATCH):
            chunk = files[start:start + BATCH]
            out = np.empty((len(chunk), 3, SIZE, SIZE), kind)
            pending.append((out, [pool.submit(load, (p, i, out, start + i)) for i, p in enumerate(chunk)]))
            if len(pending) > 3:
                out, jobs = pending.pop(0)
                [j.result() for j in jobs]
                yield len(out)
        for out, jobs in pending:
            [j.result() for j in jobs]
            yield len(out)


# -- FFCV ------------------------------------------------------------------------------------------


def mark_of(images):
    """A word that changes with the names or lengths of the pictures: what is made of them is kept under it."""
    return "%08x" % zlib.crc32("".join(f"{name} {os.path.getsize(name)}" for name in files_of(images)).encode())


def ffcv_file(images, mode="jpg"):
    """The corpus as FFCV reads it: one file of JPEGs that were decoded and encoded again, or of raw pixels. Made once, outside of the clock."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.writer import DatasetWriter
    from PIL import Image

    files = files_of(images)
    target = BUILD / f"corpus-{mark_of(images)}{'' if mode == 'jpg' else '-' + mode}.beton"

    class Pictures:
        def __len__(self):
            return len(files)

        def __getitem__(self, i):
            return Image.open(files[i]).convert("RGB"), i

    if not target.exists():
        partial = target.with_suffix(".partial")
        fields = {"image": RGBImageField(write_mode=mode, jpeg_quality=90), "label": IntField()}
        DatasetWriter(str(partial), fields, num_workers=1).from_indexed_dataset(Pictures())
        partial.rename(target)
    return str(target)


def run_ffcv_raw(args):
    """FFCV from decoded pictures: nothing is left of JPEG, and the file is as large as the pixels."""
    yield from run_ffcv(args)


def run_ffcv(args):
    """FFCV's own crop decoders (not antialiased, a square of 224/256 of the shorter side) in threads compiled by numba.
    Each pass is a loop over the loader; NCHW is a view of NHWC memory."""
    import numpy as np
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage

    train = args.mode == "train"
    image = ([RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip()] if train
             else [CenterCropRGBImageDecoder((SIZE, SIZE), ratio=SIZE / SHORT)])
    if args.dtype == "f32":  # before ToTensor: after ToTorchImage FFCV 1.0.2 never ends building its graph
        image.append(NormalizeImage(np.array(MEAN) * 255, np.array(STD) * 255, np.float32))
    image += [ToTensor(), ToTorchImage(convert_back_int16=False)]
    loader = Loader(args.made, batch_size=BATCH, num_workers=args.workers, os_cache=True, drop_last=False,
                    order=OrderOption.RANDOM if train else OrderOption.SEQUENTIAL,
                    pipelines={"image": image, "label": [IntDecoder(), ToTensor()]})
    for _ in range(args.passes):
        for batch, _ in loader:
            yield len(batch)


# -- ours ------------------------------------------------------------------------------------------


def spec_of(args):
    transform = ([{"random_resized_crop": SIZE}, {"horizontal_flip": 0.5}] if args.mode == "train"
                 else [{"resize": SHORT}, {"center_crop": SIZE}])
    transform += [{"normalize": "imagenet"}] if args.dtype == "f32" else []
    return {
        "name": "bench", "source": {"folder": os.path.abspath(args.images)}, "batch": BATCH,
        "order": {"shuffle": args.mode == "train", "epochs": args.passes}, "limits": {"cpus": args.workers},
        "image": {"transform": transform, "dtype": args.dtype, "layout": "NCHW"},
    }


def run_spdl(args):
    import spdl

    yield from rows_of(spdl.open(spec_of(args)))


def rows_of(loader, skip=0):
    """The batches of a loader, without those of the first epochs."""
    with loader:
        ENGINES.add(loader.stats()["pid"])
        for k, epoch in enumerate(loader.epochs()):
            for batch in epoch:
                if k >= skip:
                    yield batch.rows


def run_spdl_tar(args):
    """The same pictures in tar shards of 100, in the order in which the folder has them."""
    import spdl

    spec = spec_of(args)
    spec["source"] = {"shards": args.made, "index": "beside"}
    yield from rows_of(spdl.open(spec))


def tar_files(images):
    """The corpus as tar shards, made once; the engine makes their indexes in its first run."""
    files, folder = files_of(images), BUILD / f"corpus-{mark_of(images)}-tar"
    shards = -(-len(files) // 100)
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for k in range(shards):
            with tarfile.open(folder / f"{k:04d}.tar", "w", format=tarfile.GNU_FORMAT) as archive:
                for i, name in list(enumerate(files))[100 * k:100 * k + 100]:
                    archive.add(name, arcname=f"{i:06d}.jpg")
        (folder / "made").touch()
    return f"{folder}/{{0000..{shards - 1:04d}}}.tar"


def run_spdl_rows(args):
    """From the second epoch on, with the rows of the first one kept (cache.rows_bytes): many epochs, for they are short."""
    import spdl

    spec = spec_of(args)
    n = len(files_of(args.images))
    spec["cache"] = {"rows_bytes": n * 3 * SIZE * SIZE * (4 if args.dtype == "f32" else 1)}
    spec["order"]["epochs"] = 1 + EPOCHS_OF_ROWS * args.passes
    yield from rows_of(spdl.open(spec), skip=1)


CONTENDERS = {name[4:]: f for name, f in globals().items() if name.startswith("run_")}


def measure(args):
    memory = PeakMemory()
    if args.memory:
        memory.start()
    epochs = args.passes * (EPOCHS_OF_ROWS if args.name == "spdl_rows" else 1)
    stop = len(files_of(args.images)) * epochs // BATCH - TAIL
    prepare = {"ffcv": ffcv_file, "ffcv_raw": lambda images: ffcv_file(images, "raw"), "spdl_tar": tar_files}
    args.made = prepare[args.name](args.images) if args.name in prepare else None
    started, images, seen, first = time.perf_counter(), 0, 0, None
    for rows in CONTENDERS[args.name](args):
        seen += 1
        if first is None:
            first = time.perf_counter() - started
        images += rows if WARM < seen <= stop else 0
        if seen == WARM:
            begin, cpu = time.perf_counter(), cpu_seconds()
        elif seen == stop:
            seconds, used = time.perf_counter() - begin, cpu_seconds() - cpu
    memory.stop.set()
    result = {
        "name": args.name, "mode": args.mode, "dtype": args.dtype, "workers": args.workers, "images": images,
        "seconds": round(seconds, 4), "images_per_second": round(images / seconds, 1),
        "cpu_seconds_per_1000": round(used / images * 1000, 3), "first_batch_seconds": round(first, 3),
    }
    if args.memory:
        result["peak_pss_mib"] = round(memory.peak / 2**20)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(CONTENDERS))
    parser.add_argument("--images", required=True)
    parser.add_argument("--mode", choices=["eval", "train"], default="eval")
    parser.add_argument("--dtype", choices=["u8", "f32"], default="f32")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--memory", action="store_true")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
