"""Times training on photographs: csad's vanilla and CSAD beside a plain torch loop over the same tensors, and decoding.

    python benchmarks/images.py --json docs/results/images.json          on a GPU: 224 × 224, batches of 256
    python benchmarks/images.py --quick                                  a small run that a CPU makes in a minute

All in one run of the program, on made-up pictures that lie on the device as bytes: ratios of one machine. Ours is the
training's own code, recorded on a GPU; the plain loop is what one would write by hand: the same ResNet-18, torch's own
autocast, fused Adam, channels last. An epoch is reckoned from the time of a mini-batch, for as many images as CelebA
has to train on. BatchNorm learns in all of them, as in the first stage of a training.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from iteration import loud, surroundings
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from csad.data import Classes, Dataset, Samples, Task
from csad.data.augment import Pictures
from csad.data.images.decode import THREADS
from csad.data.images.read import read_images
from csad.methods import Method
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.training import ComputeSettings, choose_device
from csad.training.batches import OwnBatches
from csad.training.device import computing_in, wait
from csad.training.stacking import Alone
from csad.training.steps import Steps, optimizers_of

CELEBA = 162_770  # images in CelebA's training part
WARM_UP = 4  # mini-batches before the clock starts; the third of ours is recorded
PLAIN_AT_LEAST, CSAD_AT_MOST = 0.8, 2.5  # ours beside the plain loop, and an epoch of CSAD beside one of vanilla
PHOTO = 178, 218  # pixels of an image of CelebA


def made_up_photos(count: int, size: int) -> Dataset:
    """Noise of that size, with two classes and two bias labels, half of which is flipped in training."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (count, 3, size, size), generator=generator, dtype=torch.uint8)
    y, b = (torch.randint(0, 2, shape, generator=generator) for shape in ((count,), (count, 1)))
    task = Task("photos", (3, size, size), Classes(2), (Classes(2),), ("bias",))
    return Dataset(task, {"train": Samples(x, y, b)}, vary=Pictures(flip=True))


def made_method(task: Task, name: str, batch_size: int, precision: str) -> Method:
    """The method with the settings of CelebA."""
    file = {**experiment("celeba"), "data": {}}
    given = {"train.batch_size": batch_size, "train.precision": precision, "net.batch_norm": "learns"}
    return build(task, name, resolve(name, None, file, given), 0)


class Plain(nn.Module):
    """ResNet-18 with a head of one layer, and Adam: a loop written by hand, eager."""

    def __init__(self, dataset: Dataset, batch_size: int, device: torch.device, precision: str) -> None:
        super().__init__()
        method = made_method(dataset.task, "vanilla", batch_size, precision)
        self.net = nn.Sequential(method.F, method.D_y, method.P_y).to(device).train()
        self.halved = precision == "bf16"
        if self.halved:
            self.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        fused = device.type == "cuda"
        self.adam = torch.optim.Adam(self.net.parameters(), 1e-4, weight_decay=5e-4, fused=fused)
        self.x, self.y = dataset.train.x.to(device), dataset.train.y.to(device)

    def iteration(self, rows: Tensor) -> Tensor:
        """One step on these rows."""
        x = self.x[rows].float().div_(127.5).sub_(1)
        x = torch.where(torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5, x.flip(-1), x)
        if self.halved:
            x = x.contiguous(memory_format=torch.channels_last)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.halved):
            out = self.net(x)
        loss = cross_entropy(out.float(), self.y[rows])
        self.adam.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.adam.step()
        return loss.detach()


def plain_iteration(dataset: Dataset, batch_size: int, device: torch.device, precision: str) -> Callable[[], Any]:
    """A step of the plain loop, each time on other rows."""
    model = Plain(dataset, batch_size, device, precision)
    order = torch.randint(len(dataset.train), (64, batch_size)).to(device)
    place = iter(range(10**9))
    return lambda: model.iteration(order[next(place) % len(order)])


def our_iteration(
    dataset: Dataset, name: str, batch_size: int, way: ComputeSettings, precision: str
) -> Callable[[], Any]:
    """A step of ours: of vanilla's first stage, or of CSAD's last."""
    method = made_method(dataset.task, name, batch_size, precision).to(way.device)
    number = 0 if name == "vanilla" else len(method.schedule()) - 1
    runs, batches = Alone(method), OwnBatches(dataset, method.course, 0, way.device)
    steps = Steps(runs, batches, optimizers_of(runs, way.device), number, way, loud)
    order = steps.epoch(0)
    place = iter(range(10**9))
    return lambda: steps(order[next(place) % len(order)])


def timed(make: Callable[[], Callable[[], Any]], device: torch.device, seconds: float) -> dict[str, float]:
    """Seconds per mini-batch, of the quickest three in a row, and the GiB held at most, alone on the device."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    iteration = make()
    for _ in range(WARM_UP if device.type == "cuda" else 1):
        iteration()
    wait(device)
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        for _ in range(3):
            iteration()
        wait(device)
        best = min(best, (time.perf_counter() - start) / 3)
    held = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    return {"seconds": best, "gib": held / 2**30}


def decoding(count: int, size: int) -> dict[str, float]:
    """Images per second that the cache is built with, and opened with a second time: made-up JPEGs in a folder."""
    from PIL import Image

    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "photos"
        os.environ["CSAD_CACHE"] = str(Path(folder) / "cache")
        source.mkdir()
        names = [f"{number:06}.jpg" for number in range(count)]
        for name in names:
            coarse = generator.integers(0, 256, (PHOTO[1] // 8, PHOTO[0] // 8, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize(PHOTO, Image.Resampling.BICUBIC).save(source / name, quality=90)
        spent = []
        for _ in range(2):
            start = time.perf_counter()
            read_images(source, names, size=size)
            spent.append(time.perf_counter() - start)
    return {"images": count, "size": size, "per_second": count / spent[0], "opened_in_seconds": spent[1]}


def measure(options: argparse.Namespace, device: torch.device) -> dict[str, Any]:
    """All lines, and the two ratios that are aimed at."""
    dataset = made_up_photos(options.images, options.size)
    batch, precision = options.batch, options.precision
    makers: dict[str, Callable[[], Callable[[], Any]]] = {
        "plain loop": partial(plain_iteration, dataset, batch, device, precision)
    }
    ways = {"eager": ComputeSettings(device, record=False)} | (
        {"recorded": ComputeSettings(device)} if device.type == "cuda" else {}
    )
    for name in ("vanilla", "csad"):
        for kind, way in ways.items():
            makers[f"{name}, {kind}"] = partial(our_iteration, dataset, name, batch, way, precision)
    lines: dict[str, dict[str, float]] = {}
    with computing_in(precision):
        for name, make in makers.items():
            line = timed(make, device, options.seconds)
            line |= {"images_per_second": batch / line["seconds"], "epoch": CELEBA / batch * line["seconds"]}
            lines[name] = line
            told = f"{line['images_per_second']:10,.0f} images/s  {line['epoch']:8.1f} s per epoch of CelebA"
            print(f"{name:18} {1000 * line['seconds']:9.1f} ms  {told}  {line['gib']:6.1f} GiB", flush=True)
    best = "recorded" if "recorded" in ways else "eager"
    vanilla, csad = lines[f"vanilla, {best}"], lines[f"csad, {best}"]
    ratios = {
        "vanilla_beside_plain": lines["plain loop"]["seconds"] / vanilla["seconds"],
        "csad_epoch_beside_vanilla": csad["seconds"] / vanilla["seconds"],
    }
    aims = (
        ("vanilla's throughput beside the plain loop's", "vanilla_beside_plain", "≥", PLAIN_AT_LEAST),
        ("an epoch of CSAD beside one of vanilla", "csad_epoch_beside_vanilla", "≤", CSAD_AT_MOST),
    )
    for words, name, sign, aim in aims:
        met = ratios[name] >= aim if sign == "≥" else ratios[name] <= aim
        print(f"{words}: {ratios[name]:.2f} (aim {sign} {aim}: {'met' if met else 'missed'})")
    return {"lines": lines, "ratios": ratios}


def main() -> None:
    """Prints the table, and with --json writes the same as an object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--size", type=int, default=224, help="pixels along a side")
    parser.add_argument("--batch", type=int, default=256, help="images in a mini-batch")
    parser.add_argument("--images", type=int, default=4096, help="made-up images on the device")
    parser.add_argument("--precision", default="bf16", choices=["float32", "tf32", "bf16"])
    parser.add_argument("--seconds", type=float, default=5.0, help="how long to time each")
    parser.add_argument("--jpegs", type=int, default=5000, help="images to decode")
    parser.add_argument("--quick", action="store_true", help="small and short: 64 pixels, batches of 32, 500 JPEGs")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    if options.quick:
        options.size, options.batch, options.images, options.jpegs, options.seconds = 64, 32, 128, 500, 2.0
    device = choose_device(options.device)
    found = measure(options, device)
    found["decoding"] = decoding(options.jpegs, options.size)
    print(f"decoding: {found['decoding']['per_second']:,.0f} images/s into the cache, {THREADS} threads")
    if options.json:
        about = surroundings(device, options.precision)
        about |= {"size": options.size, "batch": options.batch, "images": options.images}
        options.json.write_text(json.dumps({"environment": about, **found}, indent=2) + "\n")


if __name__ == "__main__":
    main()
