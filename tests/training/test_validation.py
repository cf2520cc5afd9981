"""Who looks on while runs train: when, at which run, and never at one that has run away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from csad.errors import Diverged
from csad.training.checkpoint import Place, State, place_in
from csad.training.fit import fit
from csad.training.log import Log
from tests.support.stacking import WAY, equal, planned, stacked

pytestmark = pytest.mark.usefixtures("double")
SETTINGS = {"data__rows": 64, "train__epochs": 3, "train__average": 0.9}


def copied(state: State) -> State:
    """The state as it is now: that of a run alone is what goes on being trained."""
    return replace(state, weights={name: value.detach().clone() for name, value in state.weights.items()})


class Onlooker:
    """Looks after every other epoch, and notes what it is shown."""

    def __init__(self, before: Callable[[], Any] = lambda: None, keep: Path | None = None) -> None:
        self.before, self.keep = before, keep
        self.places: list[Place | None] = []
        self.shown: list[tuple[int, list[State]]] = []

    def due(self, epoch: int, epochs: int) -> bool:
        self.before()
        return epoch % 2 == 1 and epochs == 3

    def metrics(self, number: int, out: torch.Tensor) -> dict[str, float]:
        return {"seen": float(out.sum())}

    def on_epoch(self, epoch: int, logs: Sequence[Log], ended: Callable[[int], State]) -> None:
        self.shown.append((epoch, [copied(ended(number)) for number in range(len(logs))]))

    def on_save(self) -> None:
        self.places.append(place_in(self.keep) if self.keep else None)


def seen(log: Log) -> dict[tuple[str, int], float]:
    lines = [line for line in log.lines if "seen" in line.get("validation", {})]
    return {(line["stage"], line["epoch"]): line["validation"]["seen"] for line in lines}


def test_of_a_stack_each_run_is_looked_at_as_if_it_were_alone(heard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("csad.data.chunks.MOST_ROWS", 20)  # of the 32 validation rows, and 16 of a stack
    seeds, together, settings = [1, 2, 3], Onlooker(), SETTINGS | {"data__rows": 128}
    training = stacked([planned("toy-table", seed=s, **settings) for s in seeds], heard, seeds, callback=together)
    assert [epoch for epoch, _ in together.shown] == [1, 3]
    for number, seed in enumerate(seeds):
        alone, (dataset, method) = Onlooker(), planned("toy-table", seed=seed, **settings)
        log = fit(method, dataset, heard, WAY, seed=seed, callback=alone)
        assert seen(log).keys() == {("debias", 0), ("debias", 2)}
        assert seen(training.logs[number]) == pytest.approx(seen(log))
        for (_, shown), (_, [own]) in zip(together.shown, alone.shown, strict=True):
            torch.testing.assert_close(shown[number].weights, own.weights)
            assert (shown[number].place, shown[number].optimizers) == (own.place, {})


def test_the_state_that_is_shown_after_the_last_epoch_is_the_one_in_which_a_run_ends(heard: Any) -> None:
    onlooker, (dataset, method) = Onlooker(), planned("toy-table", **SETTINGS)
    fit(method, dataset, heard, WAY, seed=0, callback=onlooker)
    _, [last] = onlooker.shown[-1]
    assert equal(last.weights, method.state_dict())


def test_what_was_looked_at_is_said_to_be_safe_once_the_training_is_saved(heard: Any, tmp_path: Path) -> None:
    keep, (dataset, method) = tmp_path / "state.safetensors", planned("toy-table", **SETTINGS)
    onlooker = Onlooker(keep=keep)
    fit(method, dataset, heard, WAY, seed=0, keep=keep, callback=onlooker)
    ends = [sum(stage.epochs for stage in method.schedule()[:count]) * 4 for count in range(1, 5)]
    assert onlooker.places == [Place(count, 0, 0, step) for count, step in enumerate(ends, 1)]


def test_a_run_of_which_any_part_has_run_away_is_not_looked_at(heard: Any) -> None:
    dataset, method = planned("toy-table", **SETTINGS)

    @torch.no_grad()
    def spoil() -> None:
        next(method.get_submodule("P_b").parameters()).fill_(float("nan"))  # no prediction needs it

    log, onlooker = Log(), Onlooker(spoil)
    with pytest.raises(Diverged, match="A weight or buffer is not a number"):
        fit(method, dataset, heard, WAY, seed=0, log=log, callback=onlooker)
    assert (onlooker.shown, seen(log)) == ([], {})
