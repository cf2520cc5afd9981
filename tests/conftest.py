"""Shared by all tests: one torch thread per worker and per command it starts, and small trainings."""

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

# Before torch is imported: commands that tests start inherit it. Two threads each, beside a second worker, would wait
# for one another on two cores, some ten times as long.
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pytest
import torch

import csad
from csad.registry import METHODS
from csad.runs.build import build, plan_run, read_dataset
from tests.support import own_data
from tests.support.commands import SHORT as SHORT_OPTIONS
from tests.support.commands import typed
from tests.support.listeners import Heard
from tests.support.strangers import CANARY, FLAG

torch.set_num_threads(1)

SHORT = {"train.target_epochs": 1, "train.bias_epochs": 1, "train.estimator_epochs": 1, "train.epochs": 1}
TOYS = ("toy-image", "toy-series", "toy-table")

# Small ascents by default in all tests. With the authors' the tests of the whole take over ten minutes, 150 steps do
# not learn a batch, and fifty strides of Adam at rate 10 make of a rounding error another worst case.
QUICK = {"subspace_steps": 2, "subspace_rate": 0.1, "full_steps": 1}
for name in ("sensei", "sensr"):
    METHODS._members[name] = functools.partial(METHODS[name], **QUICK)


@pytest.fixture(params=METHODS.names())
def method_name(request):
    """Each method in turn: a new one is tested as soon as its file is there."""
    return request.param


@pytest.fixture(params=TOYS)
def toy(request):
    """Each kind of data in turn."""
    return request.param


@pytest.fixture
def make():
    """A data set and a method with fresh weights, by names and settings."""

    def made(task="toy-table", method="csad", seed=0, **settings):
        given = {key.replace("__", "."): value for key, value in settings.items()}
        dataset, plan = plan_run(task, method, {**SHORT, "train.batch_size": 32, **given}, "", read_dataset)
        return dataset, build(dataset.task, method, plan, seed)

    return made


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of what is decoded and fetched: this test's own, and not there yet."""
    monkeypatch.setenv("CSAD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def double():
    """Everything in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture(scope="session")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, its export, and a saved classifier: all made by csad."""
    place = tmp_path_factory.mktemp("trusted")
    words = ["toy-table", "--method", "vanilla", *SHORT_OPTIONS, "--quiet"]
    assert typed("train", *words, "--out", str(place / "good")).exit_code == 0
    made = typed("export", str(place / "good"), "--out", str(place / "good.safetensors"), "--no-data")
    assert made.exit_code == 0, made.stderr
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 8)).astype(np.float32), np.arange(60) % 2
    csad.DebiasedClassifier("vanilla", epochs=1, random_state=0).fit(x, y, bias=y).save(place / "classifier")
    return place


@pytest.fixture
def here(trusted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user stands, a canary in the present folder and on Python's path; neither may be imported."""
    shutil.copytree(trusted, tmp_path, dirs_exist_ok=True)
    (tmp_path / "canary.py").write_text(CANARY)
    np.save(tmp_path / "x.npy", np.zeros((3, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("canary", None)
    yield tmp_path
    assert "canary" not in sys.modules, "a file decided what is imported"
    assert not (tmp_path / FLAG).exists(), "a file decided what is run"


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> csad.Run:
    """A short run that was kept; tests that change its folder copy it first."""
    return csad.train(
        own_data.DATASET,
        "csad",
        settings=own_data.SHORT,
        debias_weight=0.5,
        out=tmp_path_factory.mktemp("runs") / "run",
    )


@pytest.fixture
def declare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Makes a TOML text the table called toys, the only one there is."""
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr("csad.reproduction.spec.FOLDER", folder)

    def declared(text: str) -> None:
        (folder / "toys.toml").write_text(text)

    return declared
