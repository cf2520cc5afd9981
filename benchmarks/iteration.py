"""Times one iteration of CSAD: a plain textbook implementation, ours step by step, recorded, and stacked.

    python benchmarks/iteration.py                          on a GPU if there is one, else on the CPU
    python benchmarks/iteration.py --device cpu --runs 1,4

All in one run of the program, on made-up images of Colored MNIST's size: ratios of one machine in one precision. Ours
is the training's own code: what is timed here is what `csad train` and `csad reproduce` run.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from textbook import Textbook

from csad.data import Dataset, Task
from csad.data.datasets.coloring import color_digits
from csad.methods import Method
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.training import ComputeSettings, choose_device
from csad.training.batches import Batches, OwnBatches, StackedBatches
from csad.training.device import computing_in, wait
from csad.training.stacking import Alone, Runs, Stack
from csad.training.steps import Steps, optimizers_of

TRAINING_ROWS = 4096
WARM_UP = 4  # iterations before the clock starts; the third of ours is recorded


def made_up_digits() -> Dataset:
    """Coloured blots as large as digits are."""
    generator = np.random.default_rng(0)
    grey = generator.random((TRAINING_ROWS, 28, 28)) * 255
    grey[:, :7] = grey[:, 21:] = grey[:, :, :7] = grey[:, :, 21:] = 0
    digits = {"train": (grey, generator.integers(10, size=TRAINING_ROWS))}
    return color_digits("made-up", digits, threshold=128, color_variance=0.02, seed=0)


def made_method(task: Task, name: str, seed: int = 0, **given: Any) -> Method:
    """The method with Colored MNIST's settings, but for those given, and fresh weights."""
    settings = {key.replace("__", "."): value for key, value in given.items()}
    return build(task, name, resolve(name, None, {**experiment("colored-mnist"), "data": {}}, settings), seed)


def textbook_iteration(dataset: Dataset, batch_size: int, device: torch.device) -> Callable[[], Any]:
    """One iteration of the textbook; its images lie on the device as floats."""
    train = dataset.train.to(device)
    x = dataset.view(train.x)
    model = Textbook(device)
    order = iter(torch.randint(len(x), (100_000, batch_size)).to(device))

    def iteration() -> Any:
        rows = next(order)
        return model.iteration(x[rows], train.y[rows], train.b[rows])

    return iteration


def our_iteration(
    dataset: Dataset, batch_size: int, runs: int | None, way: ComputeSettings, precision: str
) -> Callable[[], Any]:
    """One iteration of ours: of one run alone, or of a stack of them."""
    # As the authors train: their τ, and no average of the weights.
    given = {"train__batch_size": batch_size, "train__precision": precision, "train__average": 0.0, "sharpness": 10}
    methods = [made_method(dataset.task, "csad", seed, **given) for seed in range(runs or 1)]
    course, number = methods[0].course, len(methods[0].schedule()) - 1
    if runs is None:
        alone: Runs = Alone(methods[0].to(way.device))
        batches: Batches = OwnBatches(dataset, course, 0, way.device)
    else:
        alone = Stack(methods, way.device)
        batches = StackedBatches([dataset] * runs, course, range(runs), way.device)
    steps = Steps(alone, batches, optimizers_of(alone, way.device), number, way, loud)
    order = [rows for epoch in range(2) for rows in steps.epoch(epoch)]
    place = iter(range(10**9))
    return lambda: steps(order[next(place) % len(order)])


def loud(text: str) -> None:
    """Ends the program where a step could not be recorded."""
    raise SystemExit(f"The benchmark must record: {text}")


def timed(iteration: Callable[[], Any], device: torch.device, seconds: float) -> tuple[float, int]:
    """Seconds per iteration, of the quickest five in a row, and the bytes held at most."""
    for _ in range(WARM_UP):
        iteration()
    wait(device)
    end, best = time.perf_counter() + seconds, float("inf")
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        for _ in range(5):
            iteration()
        wait(device)
        best = min(best, (time.perf_counter() - start) / 5)
    return best, torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0


def measure(make: Callable[[], Callable[[], Any]], device: torch.device, seconds: float) -> tuple[float, int]:
    """Time and memory of what is made, alone on the device."""
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    return timed(make(), device, seconds)


def main() -> None:
    """Prints the table, and with --json the same as an object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", default="1,8,21,84", help="sizes of stacks")
    parser.add_argument("--rows", default="128,256,512,1024,2048", help="batch sizes; the first is used for all")
    parser.add_argument("--precision", default="tf32", choices=["float32", "tf32"])
    parser.add_argument("--seconds", type=float, default=2.0, help="how long to time each")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    device = choose_device(options.device)
    sizes, batch_sizes = ([int(word) for word in text.split(",")] for text in (options.runs, options.rows))
    dataset = made_up_digits()
    eager, recorded = ComputeSettings(device, record=False), ComputeSettings(device)
    lines: list[dict[str, Any]] = []

    def add(name: str, runs: int, rows: int, make: Callable[[], Callable[[], Any]]) -> None:
        seconds, memory = measure(make, device, options.seconds)
        lines.append({"what": name, "runs": runs, "rows": rows, "ms": 1000 * seconds / runs, "gib": memory / 2**30})
        print(_line(lines), flush=True)

    with computing_in(options.precision):
        for rows in batch_sizes:
            add("textbook", 1, rows, partial(textbook_iteration, dataset, rows, device))
            add("eager", 1, rows, partial(our_iteration, dataset, rows, None, eager, options.precision))
            if device.type == "cuda":
                add("recorded", 1, rows, partial(our_iteration, dataset, rows, None, recorded, options.precision))
            for runs in sizes if rows == batch_sizes[0] else []:
                add("stacked", runs, rows, partial(our_iteration, dataset, rows, runs, recorded, options.precision))
    if options.json:
        about = surroundings(device, options.precision)
        options.json.write_text(json.dumps({"environment": about, "lines": lines}, indent=2) + "\n")


def surroundings(device: torch.device, precision: str) -> dict[str, Any]:
    """What a measurement depends on besides the program."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    return {"device": name, "torch": torch.__version__, "precision": precision, "threads": torch.get_num_threads()}


def _line(lines: Sequence[dict[str, Any]]) -> str:
    """The last measurement, beside the textbook and our eager path on as many rows."""
    last = lines[-1]
    same = {line["what"]: line["ms"] for line in lines if line["rows"] == last["rows"] and line["runs"] == 1}
    ratios = [f"{same[name] / last['ms']:6.1f} × {name}" for name in ("textbook", "eager") if name in same]
    head = f"{last['what']:9} R {last['runs']:3}  N {last['rows']:5}"
    return f"{head}  {last['ms']:8.3f} ms per run-iteration  {last['gib']:6.2f} GiB  {'  '.join(ratios)}"


if __name__ == "__main__":
    main()
