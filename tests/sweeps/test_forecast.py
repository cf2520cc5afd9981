"""What is said before many runs begin: how long they take as they are trained, less what was done before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from csad.errors import Interrupted
from csad.runs.build import plan_run
from csad.runs.planned_run import PreparedRun, RunRequest
from csad.sweeps.campaign import Campaign
from csad.sweeps.forecast import forecast
from csad.training.device import ComputeSettings
from tests.support.listeners import Heard, StopAt

QUICK = {
    "train.target_epochs": 2, "train.bias_epochs": 2, "train.estimator_epochs": 2, "train.epochs": 2,
    "train.batch_size": 16, "data.rows": 32, "inner_steps": 1,
}  # fmt: skip
STEPS = 4  # of a stage: two epochs of two mini-batches
WEIGHTS = (0.5, 1.0, 2.0)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path / "shared", ComputeSettings(torch.device("cpu")), Heard())


@pytest.fixture
def runs(tmp_path: Path, campaign: Campaign) -> list[PreparedRun]:
    """Three runs that are one program and share their pretraining."""
    requests = []
    for weight in WEIGHTS:
        _, plan = plan_run("toy-table", "csad", QUICK | {"debias_weight": weight}, "", campaign.dataset)
        requests.append(RunRequest(f"{weight:g}", "toy-table", "csad", 0, plan, tmp_path / f"{weight:g}"))
    return campaign.begin(requests, resume=False, force=False)


@pytest.fixture
def paced(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[int]]:
    """Says how long a step takes, of one run and of a stack; gives the sizes of what was timed."""

    def settled(one: float, stack: float) -> list[int]:
        timed: list[int] = []

        def seconds(runs: list[PreparedRun], number: int, way: ComputeSettings) -> float:
            timed.append(len(runs))
            return one if len(runs) == 1 else stack

        monkeypatch.setattr("csad.sweeps.forecast.step_seconds", seconds)
        return timed

    return settled


def test_a_stack_takes_what_its_steps_take_and_shared_pretraining_counts_once(
    campaign: Campaign, runs: list[PreparedRun], paced: Callable[..., list[int]]
) -> None:
    timed = paced(0.01, 0.02)
    assert forecast(campaign, [runs]).seconds == pytest.approx(2 * STEPS * 0.01 + 2 * STEPS * 0.02)
    assert timed == [1, 1, 1, 3, 1, 3]  # target and bias of one run for all, the others as a stack


def test_a_stack_whose_steps_are_slow_is_not_timed_itself(
    campaign: Campaign, runs: list[PreparedRun], paced: Callable[..., list[int]]
) -> None:
    timed = paced(1.0, 2.0)
    assert forecast(campaign, [runs]).seconds == pytest.approx(2 * STEPS * 1.0 + 2 * STEPS * 3 * 1.0)
    assert timed == [1, 1, 1, 1]


def test_two_stacks_that_share_their_pretraining_make_it_once(
    campaign: Campaign, runs: list[PreparedRun], paced: Callable[..., list[int]]
) -> None:
    paced(0.01, 0.02)
    assert forecast(campaign, [runs[:1], runs[1:]]).seconds == pytest.approx(2 * STEPS * 0.01 + 2 * STEPS * 0.03)


@pytest.mark.parametrize("step", [1, 2, 5, 9, 10, 13])
def test_what_a_stopped_program_has_done_is_not_counted_again(
    step: int,
    campaign: Campaign,
    runs: list[PreparedRun],
    paced: Callable[..., list[int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)  # only a step that is told can be the last here
    campaign.trainer.listener = StopAt(step)
    with pytest.raises(Interrupted):
        campaign.trainer.train(runs)
    paced(0.1, 0.1)
    stacks = campaign.stacks(runs)
    assert stacks == [runs]
    assert forecast(campaign, stacks).seconds == pytest.approx((4 * STEPS - step - 1) * 0.1)
