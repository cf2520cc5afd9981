"""Digests of what trainings with fixed seeds come to: does another version of csad compute the very same numbers?

    python benchmarks/same_weights.py --json mine.json
    python benchmarks/same_weights.py --against docs/results/same-weights-22e8846.json

Of csad it uses only ``csad.NAME`` and the command line, so that this one file runs on each version since 22e8846,
wherever their modules lie. Of every run there are three digests: of the state that is kept (weights and what the
optimizers hold: name, kind, shape, bytes), of the figures in result.json, as exact numbers, and of what the run that is
loaded again says of fixed rows. Figures are sorted and their names left out, so that a name may be spelled otherwise.
What csad refuses must be refused by both. One thread of a CPU and deterministic algorithms: of one torch on one kind of
CPU all bits follow from that.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported, and for the commands

import argparse
import csv
import hashlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file

import csad

Digests = dict[str, str]
COMMAND, REFUSED = "python benchmarks/same_weights.py --json FILE", "refused"
SHORT = {
    "train.target_epochs": 2, "train.bias_epochs": 2, "train.estimator_epochs": 2, "train.epochs": 3,
    "train.batch_size": 48, "train.rate": 1e-3,
}  # fmt: skip
TOYS = {"toy-image": (3, 8, 8), "toy-series": (2, 32), "toy-table": (8,)}
SMALL = {"data.rows": 128}  # of a toy
SWEPT = ("vanilla", "csad", "kim", "lff", "group-dro", "zhang")
VARIED: dict[str, dict[str, Any]] = {
    "form": {"form": "paper"},
    "pairs": {"pairs": "mean"},
    "within": {"within_classes": True},
    "average": {"train.average": 0.9},
    "cells": {"train.balance": "cells"},
    "keep": {"train.partial": "keep"},
    "drop": {"train.partial": "drop"},
    "best-epoch": {"train.select_by": "balanced_accuracy"},
    "decay": {"train.decay": 0.5, "train.decay_every": 1, "train.weight_decay": 0.1},
}
TAPPING = {"data.people": 300, "data.per_cell": 5, "data.length": 64, "train.epochs": 1}
PEOPLE = ["--target", "income", "--bias", "gender"]


def digest(parts: Iterable[bytes]) -> str:
    """SHA-256 over all parts, each with its length."""
    made = hashlib.sha256()
    for part in parts:
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()


def of_arrays(arrays: Mapping[str, Any]) -> str:
    """A digest of arrays by name: kinds, shapes and bytes, in the order of the names."""
    parts: list[bytes] = []
    for name, array in sorted(arrays.items()):
        values = np.ascontiguousarray(array)
        parts += [name.encode(), str(values.dtype).encode(), str(values.shape).encode(), values.tobytes()]
    return digest(parts)


def of_numbers(value: Any) -> str:
    """A digest of all numbers in nested lists and dicts, exact and in order of size, whatever they are called."""
    return digest(word.encode() for word in sorted(_numbers(value)))


def _numbers(value: Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        value = [part for name, part in value.items() if name != "seconds"]
    if isinstance(value, list | tuple):
        for part in value:
            yield from _numbers(part)
    elif isinstance(value, int | float):
        yield float(value).hex()


def of_state(run: Path) -> str:
    """A digest of weights and optimizers; without the words before the first slash, which only say what is which."""
    state = load_file(run / "checkpoint" / "state.safetensors")
    return of_arrays({name.partition("/")[2]: values for name, values in state.items()})


def of_run(name: str, place: Path, rows: Any = None) -> Digests:
    """The digests of a run's folder; ``rows`` are what it is asked about, toy rows of its shape if not given."""
    result = json.loads((place / "result.json").read_text(encoding="utf-8"))
    told = [result.get(part) for part in ("metrics", "threshold", "choice", "target_updates")]
    run = csad.load(place, device="cpu")
    x = toy_rows(tuple(run.method.task.shape)) if rows is None else rows
    said = {"predict": run.predict(x), "transform": run.transform(x)}
    if run.classes:
        said["probabilities"] = run.predict_proba(x)
    return {f"{name}/state": of_state(place), f"{name}/figures": of_numbers(told), f"{name}/said": of_arrays(said)}


def toy_rows(shape: tuple[int, ...]) -> Any:
    """Rows that a run is asked about: bytes of pictures, numbers of anything else."""
    rng = np.random.default_rng(0)
    if len(shape) == 3:
        return rng.integers(256, size=(20, *shape), dtype=np.uint8)
    return rng.normal(size=(20, *shape)).astype(np.float32)


def trained(name: str, place: Path, task: Any, method: str, seed: int, settings: Mapping[str, Any]) -> Digests:
    """The digests of a run from Python, or that csad refuses it."""
    out = place / name.replace("/", "-")
    try:
        csad.train(task, method, seed=seed, settings=settings, out=out, device="cpu", deterministic=True)
    except csad.InputError as error:
        print(f"{name} is refused: {error}", flush=True)
        return {name: REFUSED}
    return of_run(name, out)


def command(*words: object) -> Any:
    """What a command of csad answers as JSON."""
    told = [sys.executable, "-P", "-m", "csad", *map(str, words), "--json"]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"csad {' '.join(map(str, words))}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def listed(kind: str) -> dict[str, dict[str, Any]]:
    """The members of a kind that csad lists, and their settings."""
    return {one["name"]: one["settings"] for one in command("list", kind)[kind]}


def methods(place: Path, seed: int) -> Digests:
    """Every method on every toy."""
    found: Digests = {}
    for task in TOYS:
        for method in listed("methods"):
            found |= trained(f"methods/{task}/{method}", place, task, method, seed, SHORT | SMALL)
    return found


def variants(place: Path, seed: int) -> Digests:
    """Every backbone on every toy, every bound, the other optimizer, and other ways to train."""
    found: Digests = {}
    for backbone in listed("backbones"):
        for task in TOYS:
            settings = SHORT | SMALL | {"net.backbone": backbone, "train.epochs": 1}
            found |= trained(f"variants/{task}/{backbone}", place, task, "vanilla", seed, settings)
    optimizer = next(name for name in listed("settings")["train.*"] if name.startswith("optimi"))
    varied = VARIED | {bound: {"bound": bound} for bound in listed("bounds")} | {"sgd": {f"train.{optimizer}": "sgd"}}
    for name, settings in varied.items():
        found |= trained(f"variants/csad/{name}", place, "toy-table", "csad", seed, SHORT | SMALL | settings)
    found |= trained("variants/digits", place, "digits", "csad", seed, SHORT | {"train.epochs": 1})
    return found | trained("variants/mpower", place, "mpower-simulated", "csad", seed, SHORT | TAPPING)


def sweeps(place: Path, seed: int) -> Digests:
    """Stacks of runs that differ in seed and numbers: several methods from Python, one as a command."""
    found: Digests = {}
    for task in TOYS:
        for method in SWEPT:
            settings: dict[str, Any] = SHORT | SMALL | {"train.rate": [1e-3, 3e-3]}
            if method in ("csad", "kim"):
                settings["debias_weight"] = [0.5, 2.0]
            out, seeds = place / f"sweep-{task}-{method}", [seed, seed + 1]
            made = csad.sweep(
                task, method, seeds=seeds, settings=settings, out=out, keep_weights=True, device="cpu",
                deterministic=True,
            )  # fmt: skip
            for run in made.runs:
                found |= of_run(f"sweeps/{task}/{method}/{_seedless(run, seed)}", made.out / run["name"])
    several = [*_words(SHORT | SMALL | {"debias_weight": ".5,2"}), "--seed", f"{seed},{seed + 1}", "--keep-weights"]
    told = command("train", "toy-table", "--method", "alvi", *several, *_on_cpu(place / "typed"))
    for run in told["runs"]:
        found |= of_run(f"sweeps/typed/{_seedless(run, seed)}", Path(told["out"]) / run["name"])
    return found


def _seedless(run: Mapping[str, Any], first: int) -> str:
    """The run's name with its place among the seeds, so that other seeds have the same names."""
    values = [f"{name}={value}" for name, value in run["values"].items()]
    return ",".join([*values, f"seed{run['seed'] - first}"])


def _words(settings: Mapping[str, Any]) -> list[str]:
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def _on_cpu(out: Path) -> list[str]:
    return ["--out", str(out), "--device", "cpu", "--deterministic", "--quiet"]


def write_people(path: Path) -> dict[str, list[Any]]:
    """A table of 600 people, mostly men where the income is high; gives the first columns of some of them."""
    rng = random.Random(22)
    rows: list[list[Any]] = []
    for _ in range(600):
        income, gender = rng.random() < 0.5, rng.random()
        man = gender < (0.8 if income else 0.25)
        hours = round(rng.gauss(36 + 5 * income + 6 * man, 6), 1)
        joined = f"20{rng.randrange(10, 24)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
        education = rng.choice(["school", "school" if income else "college", "master" if income else "college"])
        age: Any = rng.randrange(20, 66) if rng.random() < 0.95 else ""
        rows.append([age, hours, education, joined, "m" if man else "f", "high" if income else "low"])
    names = ["age", "hours", "education", "joined", "gender", "income"]
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([names, *rows])
    return {name: [row[k] for row in rows[:20]] for k, name in enumerate(names)}


def people(place: Path, seed: int) -> Digests:
    """A table of one's own: λ chosen, the best epoch taken, a number told, and what audits find."""
    table = place / "people.csv"
    rows = write_people(table)
    runs: dict[str, list[str]] = {
        "chosen": PEOPLE,
        "vanilla": [*PEOPLE, "--method", "vanilla"],
        "best-epoch": [*PEOPLE, *_words({"debias_weight": 1, "train.select_by": "auc", "train.balance": ""})],
        "number": ["--target", "hours", "--bias", "age", "--width", "age=5", "--set", "debias_weight=1"],
    }
    found: Digests = {}
    for name, words in runs.items():
        command("train", table, "--seed", seed, *words, *_on_cpu(place / name))
        found |= of_run(f"people/{name}", place / name, rows)
    audit = command("audit", place / "chosen", "--against", place / "vanilla", "--device", "cpu", "--quiet")
    return found | {"people/audit": of_numbers({k: v for k, v in audit.items() if k not in ("seed", "failed")})}


def table(place: Path, seed: int) -> Digests:
    """A table like the paper's: two methods on the same made-up worlds, whose seeds are the table's own."""
    small = SHORT | TAPPING | {"net.filters": 8, "net.layers": 2, "train.rate": 1e-3 * (1 + seed)}
    made = csad.reproduce(
        "mpower-simulated", rows=("vanilla", "csad"), columns=("medium",), seeds=2, settings=small, out=place,
        device="cpu", deterministic=True,
    )  # fmt: skip
    told = json.loads(Path(f"{made.path}.json").read_text(encoding="utf-8"))
    found = {"table/cells": of_numbers([told["rows"], told["differences"]])}
    for answers in sorted(place.glob("*/*/*/answers/*.safetensors")):
        method, _, run = answers.relative_to(place).parts[:3]
        found[f"table/{method}/{run}"] = of_arrays(load_file(answers))
    return found


def stopped(place: Path, seed: int) -> Digests:
    """A run that is interrupted in the middle and goes on."""
    out = place / "stopped"
    words = ["train", "toy-table", "--seed", str(seed), *_words(SHORT | {"train.epochs": 60}), *_on_cpu(out)]
    with subprocess.Popen([sys.executable, "-P", "-m", "csad", *words], stderr=subprocess.DEVNULL) as running:
        log = out / "log.jsonl"
        while running.poll() is None and not (log.exists() and '"epoch": 5' in log.read_text(encoding="utf-8")):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
    if (out / "result.json").exists() or not (out / "checkpoint").exists():
        raise SystemExit(f"The run was not interrupted in the middle of its training: exit {running.returncode}.")
    command(*words, "--resume")
    return of_run("stopped", out)


def python(place: Path, seed: int) -> Digests:
    """Arrays, the classifier, and an audit of a model that is not csad's."""
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 400)
    b = np.where(rng.random(400) < 0.85, y, 1 - y)
    x = rng.normal(size=(400, 6)).astype(np.float32)
    x[:, 0] += y
    x[:, 1] += 2 * b
    found = trained("python/arrays", place, csad.from_arrays(x, y, b), "csad", seed, SHORT | {"debias_weight": 1.0})
    for method in ("csad", "reweigh", "zhang"):
        model = csad.DebiasedClassifier(method, epochs=2, random_state=seed, device="cpu").fit(x, y, bias=b)
        said = {"probabilities": model.predict_proba(x), "transform": model.transform(x)}
        found[f"python/classifier/{method}"] = of_arrays(said)
    audit = csad.audit(LogisticRegression().fit(x[:200], y[:200]), x[200:], y[200:], b[200:])
    plain = getattr(audit, "to_dict" if hasattr(audit, "to_dict") else "as_dict")()  # its name before
    return found | {"python/audit": of_numbers({k: v for k, v in plain.items() if k != "seed"})}


PARTS: dict[str, Callable[[Path, int], Digests]] = {
    one.__name__: one for one in (methods, variants, sweeps, people, table, stopped, python)
}


def all_digests(parts: Sequence[str], seed: int) -> Digests:
    """The digests of these parts, by name."""
    found: Digests = {}
    for part in parts:
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            found |= PARTS[part](Path(folder), seed)
        print(f"{part}: {time.perf_counter() - begun:.0f} s", flush=True)
    return found


def made_with() -> dict[str, str]:
    """What the bits follow from besides csad."""
    return {"torch": torch.__version__, "numpy": np.__version__, "cpu": torch.backends.cpu.get_cpu_capability()}


def compare(found: Digests, other: Mapping[str, Any], parts: Sequence[str]) -> bool:
    """Prints which digests of these parts differ, or are missing; whether there are none such."""
    known = {name: word for name, word in other["digests"].items() if name.partition("/")[0] in parts}
    same = [name for name in known if found.get(name) == known[name]]
    print(f"{len(same)} of {len(known)} the same")
    for name in known:
        if name not in same:
            print(f"{name} {'differs' if name in found else 'is missing'}")
    for name in found.keys() - known.keys():
        print(f"{name} is new")
    if len(same) < len(known) and other["made_with"] != made_with():
        print(f"The other file was made with {other['made_with']}, and this with {made_with()}.")
    return bool(known) and len(same) == len(known)


def main() -> None:
    """Trains, and writes the digests or compares them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="a file for the digests")
    parser.add_argument("--against", type=Path, help="such a file of another version: exit code 1 if any differs")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--seed", type=int, default=0, help="another one must give other digests")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # advice on the trainings is not what is asked here
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    found = all_digests(options.parts, options.seed)
    if options.json:
        told = {"command": COMMAND, "csad": csad.__version__, "made_with": made_with(), "digests": found}
        options.json.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    if options.against and not compare(found, json.loads(options.against.read_text(encoding="utf-8")), options.parts):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
