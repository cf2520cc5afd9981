"""The demonstration: vanilla against CSAD on coloured digits, from embedded data to a page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from csad.atomic import write_whole
from csad.auditing.metrics import cell_accuracy
from csad.data.samples import Dataset, Samples
from csad.data.sets.coloring import PALETTE
from csad.errors import Interrupted
from csad.experiments.account import made_with
from csad.experiments.build import read
from csad.experiments.folder import Folder
from csad.experiments.listeners import Teller
from csad.experiments.probing import probes
from csad.experiments.run import Run, data_of
from csad.experiments.train import train
from csad.report import Contestant, Probe, demo_page

TASK = "digits"
METHODS = ("vanilla", "csad")
PICTURES_PER_DIGIT = 3
COLORINGS = 8  # of each test digit, for the probes


def run_demo(out: Path, seeds: Sequence[int], teller: Teller, *, force: bool, device: str) -> dict[str, Any]:
    """The demonstration's figures, with the report's place; runs already finished under ``out`` are used again."""
    runs = {name: [_run(out, name, seed, teller, force, device) for seed in seeds] for name in METHODS}
    dataset = data_of(runs["vanilla"][0])
    teller.say("Reading the colours out of h and h_y with fresh probes …")
    methods = {name: _summary(several) for name, several in runs.items()}
    rows = [
        {"seed": seed, **{name: runs[name][k].result["metrics"]["test"]["accuracy"] for name in METHODS}}
        for k, seed in enumerate(seeds)
    ]
    contestants = [_contestant(name, several[0], dataset) for name, several in runs.items()]
    page = demo_page(
        title="Digits that lean on colour, and digits that do not",
        contestants=contestants,
        train_pictures=pictures(dataset.train),
        test_pictures=pictures(dataset.splits["test"]),
        colors=[(int(r), int(g), int(b)) for r, g, b in PALETTE],
        classes=[str(digit) for digit in range(10)],
        facts=_facts(runs["csad"][0], dataset, seeds),
        seeds=rows if len(rows) > 1 else (),
    )
    report = out / "report.html"
    write_whole(report, page)
    gain = methods["csad"]["accuracy"] - methods["vanilla"]["accuracy"]
    return {
        "task": TASK,
        "seeds": list(seeds),
        "methods": methods,
        "gain": gain,
        "runs": rows,
        "probes": {c.name: [asdict(probe) for probe in c.probes] for c in contestants},
        "report": str(report),
        "environment": runs["csad"][0].result["environment"],
    }


def _run(out: Path, name: str, seed: int, teller: Teller, force: bool, device: str) -> Run:
    place = out / f"{name}-{seed}"
    teller.title = f"{name} seed {seed}"
    begun = Folder(place).config.exists()
    try:
        return train(
            TASK, name, seed=seed, out=place, resume=begun and not force, force=force, device=device, listener=teller
        )
    except Interrupted:
        raise Interrupted("Give the same command again to go on.") from None
    finally:
        teller.close()


def _summary(runs: Sequence[Run]) -> dict[str, Any]:
    figures = [run.result["metrics"]["test"]["accuracy"] for run in runs]
    return {
        "accuracy": statistics.mean(figures),
        "std": statistics.stdev(figures) if len(figures) > 1 else 0.0,
        "target_updates": runs[0].result["target_updates"],
        "seconds": sum(run.result["seconds"] for run in runs),
    }


def _contestant(name: str, run: Run, dataset: Dataset) -> Contestant:
    test = dataset.splits["test"]
    return Contestant(
        name=name,
        accuracy=run.result["metrics"]["test"]["accuracy"],
        cells=cell_accuracy(run.predict(test.x), test.y.numpy(), test.extra["color"].numpy(), len(PALETTE), 10),
        curves=run.log.points("losses"),
        breaks=run.log.starts(),
        probes=_probes(run),
        target_updates=run.result["target_updates"],
        seconds=run.result["seconds"],
        warnings=run.result["warnings"],
    )


def _probes(run: Run) -> list[Probe]:
    """What fresh readers make of the test digits, each in several colourings: with few rows they would look blind."""
    colorings = [read(TASK, run.config["data"] | {"seed": seed}, None) for seed in range(COLORINGS)]
    return probes(run, [dataset.splits["test"] for dataset in colorings])


def pictures(samples: Samples) -> NDArray[np.uint8]:
    """Rows of digits 0 … 9, the first of each in the split."""
    first = [np.flatnonzero(samples.y.numpy() == digit)[:PICTURES_PER_DIGIT] for digit in range(10)]
    order = np.stack(first, axis=1).flatten()
    return np.ascontiguousarray(samples.x.numpy()[order].transpose(0, 2, 3, 1))


def _facts(run: Run, dataset: Dataset, seeds: Sequence[int]) -> dict[str, str]:
    sizes = ", ".join(f"{name} {len(samples)}" for name, samples in dataset.splits.items())
    train, own, data = (run.config[section] for section in ("train", "settings", "data"))
    return {
        "data": f"scikit-learn's handwritten digits, 8 × 8 pixels, coloured as by Kim et al. (CVPR 2019): {sizes}",
        "colours": f"train: a colour for each digit, variance {data['color_variance']}; test: mean colours at random",
        "CSAD": f"debias_weight {own['debias_weight']}, inner_steps {own['inner_steps']}, rate {train['rate']}, "
        f"batch {train['batch_size']}",
        "selection": run.result["selection"],
        "versions": made_with(run.result["environment"]),
        "command": f"csad demo --seed {','.join(map(str, seeds))}",
    }
