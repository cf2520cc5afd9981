"""What a method costs at test time on Colored MNIST's net: parameters that predict uses, and time per batch.

    python benchmarks/inference.py --json docs/results/inference.json
    python benchmarks/inference.py --methods vanilla,csad,kim --device cpu

All methods take turns in one run of the program, so that each meets the same machine; the quickest turn counts.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch
from iteration import made_method, made_up_digits, surroundings
from torch import Tensor

from csad.methods import Method
from csad.training import choose_device
from csad.training.device import computing_in, wait

ROWS = 256
IN_A_ROW = 10  # batches of one turn


def parameters_used(method: Method, x: Tensor) -> int:
    """How many parameters the prediction depends on, found by following it back and not by the parts' names."""
    weights = list(method.parameters())
    gradients = torch.autograd.grad(method.predict(x).sum(), weights, allow_unused=True)
    return sum(weight.numel() for weight, found in zip(weights, gradients, strict=True) if found is not None)


@torch.no_grad()
def turn(method: Method, x: Tensor) -> float:
    """Seconds per batch, of some in a row."""
    wait(x.device)
    start = time.perf_counter()
    for _ in range(IN_A_ROW):
        method.predict(x)
    wait(x.device)
    return (time.perf_counter() - start) / IN_A_ROW


def measure(names: list[str], device: torch.device, turns: int) -> list[dict[str, Any]]:
    """A line for each method."""
    dataset = made_up_digits()
    x = dataset.view(dataset.train.x[:ROWS].to(device))
    methods = {name: made_method(dataset.task, name).eval().to(device) for name in names}
    used = {name: parameters_used(method, x) for name, method in methods.items()}
    best = dict.fromkeys(names, float("inf"))
    for number in range(turns + 1):
        for name in names if number % 2 else reversed(names):  # nobody always follows the same one
            seconds = turn(methods[name], x)
            best[name] = min(best[name], seconds) if number else best[name]  # the first turn warms up
    return [{"method": name, "parameters": used[name], "ms": 1000 * best[name]} for name in names]


def main() -> None:
    """Prints the table, and with --json writes the same as an object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--methods", default="vanilla,csad")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--precision", default="float32", choices=["float32", "tf32"])
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    device = choose_device(options.device)
    with computing_in(options.precision):
        lines = measure(options.methods.split(","), device, options.turns)
    for line in lines:
        print(f"{line['method']:14} {line['parameters']:9,} parameters  {line['ms']:8.3f} ms per {ROWS} digits")
    if options.json:
        about = surroundings(device, options.precision)
        options.json.write_text(json.dumps({"environment": about, "rows": lines}, indent=2) + "\n")


if __name__ == "__main__":
    main()
