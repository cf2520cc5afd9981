"""Files as an earlier csad wrote them, for tests/test_old_files.py: each later version must read them.

Those in ``22e8846`` were made by that commit (``git worktree add OLD 22e8846``), from the root of the repository:

    PYTHONPATH=OLD/src python -P tests/files/make.py tests/files/22e8846

Of csad it uses only ``csad.NAME`` and the command line. Paths in the files are made relative, so that commands on them
are given in the folder itself. ``expected.json`` has what each model said, as exact numbers, and a digest of plain
arithmetic: where that is another, as another torch or CPU may have it, last bits may differ too.
"""

import argparse
import csv
import hashlib
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import torch

import csad


def settings(**given):
    """``--set`` words: train_epochs=1 is --set train.epochs=1."""
    return [word for name, value in given.items() for word in ("--set", f"{name.replace('_', '.', 1)}={value}")]


LENGTHS = settings(train_target_epochs=1, train_bias_epochs=1, train_estimator_epochs=1, train_epochs=2)
NET = settings(net_branch=4, net_estimator="4,4")
SHORT = [*LENGTHS, *NET, "--set", "train.batch_size=16"]
TABLE = [*SHORT, *settings(net_hidden=4)]
TOY = ["toy-table", *TABLE, *settings(data_rows=16)]
INCOME = ["people.csv", "--target", "income", "--bias", "gender", "--split", ".6,.2,.2"]
CHOOSE = [*NET, *settings(net_hidden=8, train_epochs=4, train_target_epochs=4, train_batch_size=32, train_balance="")]
WEIGHT = ["--set", "debias_weight=1"]
METHODS = (
    "ad-jsd", "alvi", "cocl", "csad", "csad-content", "csad-struc", "group-dro", "kim", "lff", "project", "ragonesi",
    "reweigh", "sensei", "sensr", "vanilla", "zhang",
)  # fmt: skip
OWN_WAYS = {
    "alvi": ["--set", "train.average=0.9"],
    "csad": ["--set", "train.select_by=balanced_accuracy"],
    "vanilla": ["--set", "train.optimiser=sgd"],
}
# The runs, by folder, as they were typed: the words behind ``csad train``.
RUNS = {
    **{f"methods/{name}": [*TOY, "--method", name, *OWN_WAYS.get(name, [])] for name in METHODS},
    "toy-image": ["toy-image", *SHORT, *settings(data_rows=16, net_filters=4)],
    "toy-series": ["toy-series", *SHORT, *settings(data_rows=16, net_filters=4, net_layers=2)],
    "people-csad": [*INCOME, *CHOOSE],  # λ and the threshold are chosen
    "people-vanilla": [*INCOME, *CHOOSE, "--method", "vanilla"],
    "people-number": ["people.csv", "--target", "hours", "--bias", "age", "--width", "age=5", *TABLE, *WEIGHT],
    "walks": [
        "walks.csv", "--target", "ill", "--bias", "sex", "--series-columns", "t", *SHORT, *WEIGHT,
        *settings(net_filters=4, net_layers=2),
    ],
    "faces": [
        "faces.csv", "--target", "smiles", "--bias", "hair", "--image", "file", "--images", "faces.zip", *SHORT,
        *WEIGHT, *settings(data_size=8, net_filters=4),
    ],
    "arrays": ["arrays.npz", *TABLE, "--method", "reweigh"],
}  # fmt: skip
STOPPED = ["toy-table", *NET, *settings(data_rows=32, net_hidden=4, train_target_epochs=2, train_bias_epochs=2)]
STOPPED += settings(train_estimator_epochs=2, train_epochs=20, train_batch_size=16, train_rate=0.001)
SWEEP = [*TOY, "--method", "kim", "--set", "debias_weight=.5,2", "--keep-weights"]
REPRODUCE = {
    "rows": ("vanilla", "csad"),
    "columns": ("medium",),
    "seeds": 2,
    "settings": {
        "data.people": 300, "data.per_cell": 5, "data.length": 16, "net.filters": 4, "net.layers": 2, "net.branch": 4,
        "net.estimator": (4, 4), "train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1,
        "train.epochs": 1,
    },
}  # fmt: skip


def command(*words):
    """What a command of csad answers as JSON."""
    told = [sys.executable, "-P", "-m", "csad", *words, "--device", "cpu", "--quiet", "--json"]
    if words[0] == "export":
        told = [word for word in told if word not in ("--device", "cpu")]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"csad {' '.join(words)}: {done.stderr}{done.stdout}")
    return json.loads(done.stdout)


def write_csv(name, header, rows):
    with open(name, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])


def write_tables():
    """People with numbers, categories, dates and gaps; series in columns; pictures in an archive; arrays."""
    from PIL import Image

    rng = random.Random(0)
    people, walks, faces = [], [], []
    for k in range(300):
        high = k % 2
        man = rng.random() < (0.75 if high else 0.25)
        city = rng.choice(["Oslo", "Rome", "Lima", "Rome", ""])
        joined = f"20{rng.randrange(10, 24)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
        age = rng.randrange(20, 66) if k % 17 else ""
        hours = round(rng.gauss(34 + 5 * high + 4 * man, 5), 1)
        people.append([age, city, joined, hours, "m" if man else "f", "high" if high else "low"])
    for k in range(60):
        steps = [round(rng.gauss(k % 2, 1) + k // 2 % 2, 2) for _ in range(8)]
        walks.append(["yes" if k % 2 else "no", "fm"[k // 2 % 2], *steps])
    with zipfile.ZipFile("faces.zip", "w") as archive:
        for k in range(40):
            pixels = np.array([[[40 * (k % 2) + 90, 60 * (k // 2 % 2) + 80, 5 * (k + i + j) % 256] for i in range(8)]
                               for j in range(8)], np.uint8)  # fmt: skip
            stream = BytesIO()
            Image.fromarray(pixels).save(stream, "PNG")
            archive.writestr(zipfile.ZipInfo(f"{k}.png"), stream.getvalue())
            faces.append([f"{k}.png", "yes" if k % 2 else "no", "dark" if k // 2 % 2 else "fair"])
    write_csv("people.csv", ["age", "city", "joined", "hours", "gender", "income"], people)
    write_csv("walks.csv", ["ill", "sex", *(f"t{k}" for k in range(8))], walks)
    write_csv("faces.csv", ["file", "smiles", "hair"], faces)
    y, b = np.arange(60) % 2, np.arange(60) // 2 % 2
    np.savez("arrays.npz", x=plain((60, 4)) + y[:, None] + 2 * b[:, None], y=np.array(["no", "yes"])[y], b=b)


def plain(shape, kind="float32"):
    """Numbers that follow from no generator: bytes, or quarters between −2 and 2."""
    whole = np.arange(np.prod(shape)) * 37 % 256
    return (whole if kind == "uint8" else (whole % 17 - 8) / 4).astype(kind).reshape(shape)


def arithmetic():
    """A digest of what torch makes of a few layers: where it is the same, so are the last bits of a net's answers."""
    x, made = torch.from_numpy(plain((5, 8))), hashlib.sha256()
    weights = torch.from_numpy(plain((4, 8))) / 7
    h = torch.nn.functional.linear(x, weights, weights[:, 0]).relu()
    pictures = torch.from_numpy(plain((5, 3, 8, 8))) / 3
    convolved = torch.conv2d(pictures, torch.from_numpy(plain((4, 3, 3, 3))) / 7, padding=1)
    series = torch.conv1d(torch.from_numpy(plain((5, 2, 32))) / 3, torch.from_numpy(plain((4, 2, 5))) / 7)
    for out in (h, (h @ weights).softmax(1), convolved.mean((2, 3)), series.mean(2), (x / 7).exp().tanh()):
        made.update(out.numpy().tobytes())
    return made.hexdigest()


def asked(name, run):
    """The rows that a run is asked about: raw values of a table, else plain ones of its shape."""
    if name.startswith("people"):
        with open("people.csv", newline="", encoding="utf-8") as stream:
            rows = list(csv.reader(stream))[:25]
        return dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True))
    shape = tuple(run.method.task.shape)
    return plain((5, *shape), "uint8" if len(shape) == 3 else "float32")


def said(name, run):
    """What a run says of those rows, as exact numbers."""
    rows = asked(name, run)
    found = {"predict": run.predict(rows), "transform": run.transform(rows)}
    if run.classes:
        found["probabilities"] = run.predict_proba(rows)
    return {what: values.tolist() for what, values in found.items()}


def classifiers():
    """Two fitted classifiers, saved and pickled."""
    x, y = plain((60, 3)), np.array(["no", "yes"])[np.arange(60) % 2]
    bias = (np.arange(60) // 2 % 6).astype(float)
    x = x + (y == "yes")[:, None] + bias[:, None] / 2
    own = {"net.hidden": (4,), "net.branch": 4, "net.estimator": (4, 4)}
    made = {
        "plain": csad.DebiasedClassifier(
            "csad", epochs=1, random_state=0, settings=own | {"train.optimiser": "sgd"},
            class_weight={"no": 1, "yes": 2},
        ),
        "related": csad.DebiasedClassifier(
            "csad-content", debias_weight=0.5, epochs=1, random_state=1, settings=own, standardise=False,
            related=csad.Related("near_bias", (1.0,)), device="cpu",
        ),
    }  # fmt: skip
    for name, model in made.items():
        model.fit(x, y, bias=bias)
        model.save(f"classifier-{name}.safetensors")
        Path(f"classifier-{name}.pickle").write_bytes(pickle.dumps(model))
    return {name: model.predict_proba(plain((5, 3))).tolist() for name, model in made.items()}


def stop():
    """A run that is interrupted in the middle of its last stage."""
    words = [sys.executable, "-P", "-m", "csad", "train", *STOPPED, "--out", "stopped", "--device", "cpu", "--quiet"]
    with subprocess.Popen(words) as running:
        log = Path("stopped/log.jsonl")
        while running.poll() is None and not (log.exists() and '"epoch": 9' in log.read_text(encoding="utf-8")):
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
    if Path("stopped/result.json").exists() or not Path("stopped/checkpoint").exists():
        raise SystemExit("The run was not interrupted in the middle of its training.")


def trained():
    """All runs, and what they say."""
    for name, words in RUNS.items():
        command("train", *words, "--out", name)
    stop()
    command("train", *STOPPED, "--out", "whole")  # the same run, not interrupted: only what it says is kept
    command("train", *SWEEP, "--out", "sweep")
    found = {name: said(name, csad.load(name, device="cpu")) for name in [*RUNS, "whole"]}
    shutil.rmtree("whole")
    shutil.rmtree("sweep/shared")
    for home in sorted(Path("sweep").glob("*/config.toml")):
        found[str(home.parent)] = said("sweep", csad.load(home.parent, device="cpu"))
    return found


def reproduced():
    """A table like the paper's: its JSON, and its runs with what they said row by row, without their weights."""
    csad.reproduce("mpower-simulated", **REPRODUCE, out="table", device="cpu")
    shutil.rmtree("table/shared")
    for ending in ("md", "tex", "svg"):
        next(Path("table").glob(f"*.{ending}")).unlink()


def exported():
    """The run on people, and what a command predicts with it, as files for elsewhere."""
    for ending in ("onnx", "pt2", "safetensors"):
        command("export", "people-csad", "--out", f"people.{ending}")
    command("predict", "people-csad", "people.csv", "--out", "predictions.csv")


def without_folder(place):
    """Makes paths in text files relative; nothing else may name the folder."""
    for file in sorted(place.rglob("*")):
        if file.suffix in (".toml", ".json", ".jsonl"):
            file.write_text(file.read_text(encoding="utf-8").replace(f"{place}/", ""), encoding="utf-8")
        if file.is_file() and str(place).encode() in file.read_bytes():
            raise SystemExit(f"{file} names the folder.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("place", type=Path)
    place = parser.parse_args().place.resolve()
    place.mkdir()
    os.chdir(place)
    os.environ.update(OMP_NUM_THREADS="1", CSAD_CACHE=str(place / "cache"))
    torch.set_num_threads(1)
    write_tables()
    expected = {"torch": torch.__version__, "arithmetic": arithmetic(), "runs": trained(), "classifiers": classifiers()}
    command("audit", "people-vanilla")
    command("audit", "people-csad", "--against", "people-vanilla")
    exported()
    reproduced()
    shutil.rmtree("cache", ignore_errors=True)
    Path("expected.json").write_text(json.dumps(expected) + "\n", encoding="utf-8")
    without_folder(place)


if __name__ == "__main__":
    main()
