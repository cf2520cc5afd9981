"""Many runs in as few programs as can be: what goes into one stack, what memory allows, what diverges, what dies."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from csad.errors import Interrupted
from csad.messages import message
from csad.runs.build import plan_run
from csad.runs.folder import Folder
from csad.runs.planned_run import PreparedRun, RunRequest
from csad.sweeps.campaign import Campaign
from csad.sweeps.sweep import sweep as sweep_anywhere
from csad.training.device import ComputeSettings
from csad.training.memory import run_bytes
from tests.support.listeners import StopAt
from tests.support.messages import codes, noticed
from tests.support.quick import QUICK

sweep = partial(sweep_anywhere, device="cpu")
PLAIN = {name: value for name, value in QUICK.items() if name != "inner_steps"}
NETS = """
import torch
from torch import nn

class Dropping(nn.Sequential):
    def __init__(self, share: float = 0.5):
        super().__init__(nn.Linear(8, 6), nn.Dropout(share), nn.ReLU())

class Quietly(nn.Linear):
    def __init__(self):
        super().__init__(8, 6)

    def forward(self, x):
        return nn.functional.dropout(super().forward(x), 0.5, self.training)

class Choosing(nn.Linear):
    def __init__(self):
        super().__init__(8, 6)

    def forward(self, x):
        h = super().forward(x)
        return h if h.sum() > 0 else -h
"""


@pytest.fixture
def campaign(tmp_path: Path, heard: Any) -> Campaign:
    return Campaign(tmp_path / "shared", ComputeSettings(torch.device("cpu")), heard)


@pytest.fixture
def ready(tmp_path: Path, campaign: Campaign) -> Callable[..., PreparedRun]:
    """A run that is asked for, by its settings."""

    def made(method: str = "csad", seed: int = 0, **settings: Any) -> PreparedRun:
        own = {key.replace("__", "."): value for key, value in settings.items()}
        given = (QUICK if method == "csad" else PLAIN) | own
        _, plan = plan_run("toy-table", method, given, "", campaign.dataset)
        name = json.dumps([method, seed, own])
        request = RunRequest(name, "toy-table", method, seed, plan, tmp_path / "runs" / name)
        return campaign.prepare(request, resume=False, force=False)

    return made


def small_memory(monkeypatch: pytest.MonkeyPatch, run: PreparedRun, runs: float) -> None:
    """Leaves memory for so many runs beside their data."""
    free = run.dataset.train.x.nbytes + runs * run_bytes(run.method, run.dataset)
    monkeypatch.setattr("csad.sweeps.campaign.free_bytes", lambda device: int(free))


def losses(folder: Path) -> list[Any]:
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [value for line in lines for value in line.get("losses", {}).values()]


NUMBERS = {
    "debias_weight": (0.5, 2.0),
    "train.rate": (0.001, 0.01),
    "train.pretrain_rate": (0.001, 0.01),
    "train.decay": (0.1, 0.5),
    "train.weight_decay": (0.0, 0.1),
    "train.average": (0.5, 0.9),
    "sharpness": (5.0, 10.0),
    "scale": (0.5, 1.0),
    "data.seed": (0, 1),
    "data.agreement": (0.7, 0.9),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_runs_that_differ_in_a_number_are_one_program(name: str, ready: Callable[..., PreparedRun], campaign: Campaign):
    runs = [ready(**{name: value}) for value in NUMBERS[name]]
    assert campaign.stacks(runs) == [runs]


def test_runs_that_differ_in_many_numbers_and_in_their_seeds_are_one_program(
    ready: Callable[..., PreparedRun], campaign: Campaign
) -> None:
    runs = [
        ready(seed=seed, debias_weight=weight, train__rate=rate, data__seed=seed)
        for seed, weight, rate in [(0, 1.0, 0.001), (1, 1.0, 0.001), (1, 2.0, 0.01), (7, 0.0, 0.1)]
    ]
    assert campaign.stacks(runs) == [runs]


KINDS = {
    "train.epochs": (1, 2),
    "train.target_epochs": (1, 2),
    "train.batch_size": (8, 16),
    "train.optimizer": ("adam", "sgd"),
    "train.average": (0.0, 0.9),
    "data.rows": (32, 48),
    "net.branch": (4, 8),
    "net.head": ((), (4,)),
    "inner_steps": (1, 2),
    "bound": ("cs", "jsd"),
    "related_by": ("", "same_sample"),
    "within_classes": (False, True),
    "walk_on": (0.3, 0.5),
}


@pytest.mark.parametrize("name", KINDS)
def test_runs_of_different_kinds_are_different_programs(
    name: str, ready: Callable[..., PreparedRun], campaign: Campaign
):
    one, other = (ready(**{name: value}) for value in KINDS[name])
    again = ready(seed=1, **{name: KINDS[name][0]})
    assert campaign.stacks([one, other, again]) == [[one, again], [other]]


def test_methods_are_different_programs(ready: Callable[..., PreparedRun], campaign: Campaign) -> None:
    runs = [ready("vanilla"), ready("csad"), ready("vanilla", seed=1)]
    assert campaign.stacks(runs) == [[runs[0], runs[2]], [runs[1]]]


def test_data_with_the_same_settings_are_read_once(ready: Callable[..., PreparedRun]) -> None:
    one, two, other = ready(seed=0), ready("vanilla", seed=1), ready(data__seed=1)
    assert one.dataset is two.dataset
    assert one.dataset is not other.dataset


def test_a_run_that_is_finished_is_in_no_stack(ready: Callable[..., PreparedRun], campaign: Campaign) -> None:
    runs = [ready(seed=seed) for seed in range(3)]
    for run in runs:
        run.folder.path.mkdir(parents=True, exist_ok=True)
    runs[1].folder.write_result({"metrics": {}})
    assert campaign.stacks(runs) == [[runs[0], runs[2]]]
    for run in (runs[0], runs[2]):
        run.folder.write_result({"metrics": {}})
    assert campaign.stacks(runs) == []


@pytest.mark.parametrize(
    ("runs", "room", "sizes"),
    [
        (5, 5.5, [5]),
        (5, 4.5, [2, 3]),
        (7, 3.5, [2, 2, 3]),
        (4, 3.5, [2, 2]),
        (6, 4.5, [3, 3]),
        (3, 1.5, [1, 1, 1]),
        (2, 0.1, [1, 1]),
    ],
)
def test_little_memory_splits_a_stack_evenly(
    runs: int,
    room: float,
    sizes: list[int],
    ready: Callable[..., PreparedRun],
    campaign: Campaign,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = [ready(seed=seed) for seed in range(runs)]
    small_memory(monkeypatch, many[0], room)
    stacks = campaign.stacks(many)
    assert [len(stack) for stack in stacks] == sizes
    assert [run for stack in stacks for run in stack] == many


def test_a_stack_that_was_split_gives_the_same_runs(
    tmp_path: Path, ready: Callable[..., PreparedRun], heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"settings": QUICK, "seeds": range(4), "listener": heard}
    whole = sweep("toy-table", out=tmp_path / "whole", **options)
    small_memory(monkeypatch, ready(), 2.5)
    split = sweep("toy-table", out=tmp_path / "split", **options)
    assert [run["result"]["stacked"] for run in whole.runs] == [4] * 4
    assert [run["result"]["stacked"] for run in split.runs] == [2] * 4
    for one, other in zip(whole.runs, split.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]
        found = losses(tmp_path / "split" / other["name"])
        assert found == pytest.approx(losses(tmp_path / "whole" / one["name"]), rel=1e-4)


def test_what_there_is_to_do_is_said_before_it_begins(tmp_path: Path, heard: Any) -> None:
    before: list[int] = []
    heard.message = lambda text: (heard.said.append(text), before.append(len(heard.steps)))
    sweep("toy-table", settings=QUICK, seeds=range(3), out=tmp_path, listener=heard)
    assert heard.said[0] == message("runs-planned", name="toy-table csad", runs=3)
    assert noticed(heard.said[1:2], "training-forecast", runs=3, programs=1, device="the CPU")
    assert re.fullmatch(r"\d+ s", heard.said[1].facts["time"])
    assert re.fullmatch(r"\d+ MiB", heard.said[1].facts["memory"])
    assert before == [0, 0]
    assert heard.steps


def test_what_was_kept_for_going_on_is_gone_in_the_end(tmp_path: Path, heard: Any) -> None:
    sweep("toy-table", settings=QUICK, seeds=range(2), out=tmp_path, listener=heard)
    assert list(tmp_path.glob("shared/pretrained/*"))
    assert not list(tmp_path.glob("shared/stacks/*"))


@pytest.fixture
def nets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module with backbones of a user's own."""
    (tmp_path / "nets_of_a_user.py").write_text(NETS)
    monkeypatch.syspath_prepend(tmp_path)
    return "nets_of_a_user"


def test_runs_with_dropout_are_trained_one_by_one_and_say_why(tmp_path: Path, nets: str, heard: Any) -> None:
    settings = PLAIN | {"net.backbone": f"{nets}:Dropping"}
    made = sweep("toy-table", "vanilla", settings=settings, seeds=(0, 1), out=tmp_path, listener=heard)
    assert [run["result"]["stacked"] for run in made.runs] == [1, 1]
    assert codes(heard.warnings) == ["run-trained-alone"] * 2
    assert all("dropout" in text for text in heard.warnings)


def test_a_run_alone_that_goes_on_puts_aside_what_was_said_of_its_earlier_weights(
    tmp_path: Path, nets: str, heard: Any
) -> None:
    options: dict[str, Any] = {"settings": PLAIN | {"net.backbone": f"{nets}:Dropping"}, "seeds": (0, 1)}
    with pytest.raises(Interrupted):
        sweep("toy-table", "vanilla", out=tmp_path / "runs", listener=StopAt(1), **options)
    (folder,) = (path.parent.parent for path in (tmp_path / "runs").glob("*/checkpoint/*"))
    (folder / "audit.json").write_text("of before")
    sweep("toy-table", "vanilla", out=tmp_path / "runs", resume=True, listener=heard, **options)
    assert noticed(heard.said, "reports-renamed-on-resume", moves="audit.json is now audit-before-resume.json")
    assert [path.name for path in folder.glob("audit*")] == ["audit-before-resume.json"]


def test_dropout_that_drops_nothing_is_no_reason_to_train_alone(tmp_path: Path, nets: str, heard: Any) -> None:
    settings = PLAIN | {"net.backbone": f"{nets}:Dropping", "net.share": 0.0}
    made = sweep("toy-table", "vanilla", settings=settings, seeds=(0, 1), out=tmp_path, listener=heard)
    assert [run["result"]["stacked"] for run in made.runs] == [2, 2]


def test_data_whose_held_out_rows_differ_in_number_are_no_hindrance(tmp_path: Path, heard: Any) -> None:
    rows = {"x": np.random.default_rng(0).normal(size=(100, 3)), "y": np.arange(100) % 2, "b": np.arange(100) // 2 % 2}
    np.savez(tmp_path / "own.npz", **rows)
    settings = {name: value for name, value in QUICK.items() if name != "data.rows"}
    settings["data.fractions"] = [(0.7, 0.1, 0.2), (0.7, 0.2, 0.1)]
    made = sweep(str(tmp_path / "own.npz"), settings=settings, out=tmp_path / "runs", listener=heard)
    assert all(run["result"] for run in made.runs)


@pytest.mark.parametrize("name", ["Quietly", "Choosing"])
def test_a_net_that_cannot_be_stacked_for_another_reason_is_trained_alone_too(
    name: str, tmp_path: Path, nets: str, heard: Any
) -> None:
    settings = PLAIN | {"net.backbone": f"{nets}:{name}"}
    made = sweep("toy-table", "vanilla", settings=settings, seeds=(0, 1), out=tmp_path, listener=heard)
    assert [run["result"]["stacked"] for run in made.runs] == [1, 1]
    assert "run-trained-alone" in codes(heard.warnings)


LOST = {"train.rate": (0.001, 1e30), "train.pretrain_rate": (0.001, 1e30)}


@pytest.mark.parametrize("name", LOST)
def test_a_run_that_diverges_is_lost_and_the_others_come_to_their_end(name: str, tmp_path: Path, heard: Any) -> None:
    settings = QUICK | {name: list(LOST[name])}
    made = sweep("toy-table", settings=settings, seeds=(0, 1), out=tmp_path / "both", listener=heard)
    lost = [f"{name}=1e+30,seed={seed}" for seed in (0, 1)]
    assert made.lost == lost
    assert all(any(text.startswith(f"{one}: ") for text in heard.warnings) for one in lost)
    assert [run["result"] is None for run in made.runs] == [False, False, True, True]
    assert all(not (tmp_path / "both" / one / "result.json").exists() for one in lost)
    assert [line["values"] for line in made.summary()] == [{name: 0.001}]

    sane = sweep("toy-table", settings=QUICK | {name: 0.001}, seeds=(0, 1), out=tmp_path / "sane", listener=heard)
    for one, other in zip(made.runs[:2], sane.runs, strict=True):
        assert one["result"]["metrics"] == other["result"]["metrics"]
        found = losses(tmp_path / "both" / one["name"])
        assert found == pytest.approx(losses(tmp_path / "sane" / other["name"]), rel=1e-4)
        assert all(map(math.isfinite, found))


def test_where_all_diverge_all_are_lost_and_nothing_is_raised(tmp_path: Path, heard: Any) -> None:
    settings = QUICK | {"train.rate": 1e30}
    made = sweep("toy-table", settings=settings, seeds=(0, 1), out=tmp_path, listener=heard)
    assert made.lost == ["seed=0", "seed=1"]
    assert made.summary() == []
    assert any("Lower train.rate" in text for text in heard.warnings)


def dying(monkeypatch: pytest.MonkeyPatch, after: int, call: Callable[[], Any]) -> None:
    """Calls with a program that dies once it has written so many results."""
    write, done = Folder.write_result, []

    def write_or_die(self: Folder, result: Any) -> None:
        if len(done) == after:
            raise KeyboardInterrupt
        done.append(write(self, result))

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "write_result", write_or_die)
        with pytest.raises(KeyboardInterrupt):
            call()


@pytest.mark.parametrize("after", [0, 1])
def test_a_program_that_dies_while_it_writes_results_goes_on_to_the_same(
    after: int, tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"settings": QUICK, "seeds": (0, 1, 2), "listener": heard}
    whole = sweep("toy-table", out=tmp_path / "whole", **options)
    dying(monkeypatch, after, lambda: sweep("toy-table", out=tmp_path / "again", **options))
    assert len(list((tmp_path / "again").glob("*/result.json"))) == after
    heard.steps.clear()
    again = sweep("toy-table", out=tmp_path / "again", resume=True, **options)
    assert [run["result"]["metrics"] for run in again.runs] == [run["result"]["metrics"] for run in whole.runs]
    assert {name for name, _, _ in heard.steps} <= {"estimator", "debias"}
    assert (heard.steps == []) == (after == 0)


def test_a_run_that_diverged_is_lost_even_if_the_program_dies_while_it_writes_results(
    tmp_path: Path, heard: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: dict[str, Any] = {"settings": QUICK | {"train.rate": [0.001, 1e30]}, "out": tmp_path, "listener": heard}
    dying(monkeypatch, 0, lambda: sweep("toy-table", **options))
    assert sweep("toy-table", resume=True, **options).lost == ["train.rate=1e+30,seed=0"]
