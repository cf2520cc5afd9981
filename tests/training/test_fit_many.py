"""The life of a stack: its logs, runs that are lost, stopping and going on, handing over."""

from dataclasses import replace

import pytest
import torch

from csad.errors import Diverged, Interrupted
from csad.messages import message
from csad.training.checkpoint import State, read_checkpoint, save
from csad.training.fit import fit
from csad.training.log import Log
from tests.support.listeners import StopAt
from tests.support.stacking import WAY, equal, losses, planned, stacked

pytestmark = pytest.mark.usefixtures("double")


def test_every_run_has_a_log_of_its_own_and_the_listener_hears_of_all_at_once(heard, tmp_path):
    seeds = [1, 2, 3]
    logs = [Log(tmp_path / f"{seed}.jsonl") for seed in seeds]
    training = stacked([planned("toy-table", seed=seed) for seed in seeds], heard, seeds, logs=logs)
    places = [list(losses(log)) for log in logs]
    assert places[0] == places[1] == places[2] == [(stage, step) for stage, step, _ in heard.steps]
    assert places[0][-1] == ("debias", training.place.step - 1)
    assert losses(logs[0])["target", 0] != losses(logs[1])["target", 0]
    for log in logs:
        assert Log(log.path).lines == log.lines


def test_a_training_from_the_start_forgets_what_an_earlier_try_has_logged(heard, tmp_path):
    for _ in range(2):
        training = stacked([planned("toy-table")], heard, [0], logs=[Log(tmp_path / "log.jsonl")])
    steps = [line["step"] for line in training.logs[0].lines]
    assert steps == sorted(set(steps))


@pytest.mark.parametrize("settings", [{}, {"train__average": 0.9}])
def test_a_run_that_diverges_is_given_up_by_name_and_the_others_do_not_feel_it(heard, settings):
    seeds = [1, 2, 3]

    def pairs(rate):
        rates = {1: 1e-3, 2: rate, 3: 1e-3}
        return [planned("toy-table", seed=s, inner_steps=2, train__rate=rates[s], **settings) for s in seeds]

    sound, spoiled = (stacked(pairs(rate), heard, seeds) for rate in (2e-3, 1e200))
    assert sound.lost == {}
    dataset, alone = pairs(1e200)[1]
    with pytest.raises(Diverged) as known:
        fit(alone, dataset, heard, WAY, seed=2)
    assert list(spoiled.lost) == [1]
    assert spoiled.lost[1].startswith("The loss of the update 'estimator' is not a number at step 5")
    assert str(known.value).startswith(spoiled.lost[1])
    stopped = message("diverged-run-stopped", problem=spoiled.lost[1])
    assert heard.warnings == [f"run 1: {stopped}"]
    assert max(line["step"] for line in spoiled.logs[1].lines if "losses" in line) < 5
    assert spoiled.logs[1].warnings() == [stopped]
    for k in (0, 2):
        own, other = spoiled.state_of(k), sound.state_of(k)
        assert equal(own.weights, other.weights)
        assert equal(own.optimizers, other.optimizers)
        assert losses(spoiled.logs[k]) == losses(sound.logs[k])
    assert all(bool(torch.isfinite(value[[0, 2]]).all()) for value in spoiled.runs.state.values())


def test_a_weight_that_runs_away_in_the_very_last_step_is_noticed_too(heard):
    pairs = [planned("toy-table", "vanilla", data__rows=16, train__epochs=1) for _ in range(2)]
    pairs[1][1].course = replace(pairs[1][1].course, rate=float("inf"))
    training = stacked(pairs, heard, [0, 0])
    assert training.lost == {1: "A weight or buffer is not a number after step 1"}


def test_when_every_run_has_diverged_all_stops(heard):
    pairs = [planned("toy-table", seed=seed, train__rate=1e200) for seed in (1, 2)]
    with pytest.raises(Diverged, match=r"is not a number at step 5\b.*Lower train.rate"):
        stacked(pairs, heard, [1, 2])
    assert [text for text in heard.warnings if "This run is stopped" in text] == heard.warnings
    assert len(heard.warnings) == 1  # of the first that was lost


def without_time(logs):
    return [[{k: v for k, v in line.items() if k != "seconds"} for line in log.lines] for log in logs]


@pytest.mark.parametrize("step", [0, 5, 11, 20, 29])
def test_a_stack_that_is_stopped_goes_on_as_if_it_had_not_been(heard, monkeypatch, tmp_path, step):
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)  # of a stack: every fifth step
    seeds = [1, 2]

    def pairs():
        settings = {"data__rows": 96, "train__average": 0.9, "inner_steps": 2}
        return [planned("toy-table", seed=seed, **settings) for seed in seeds]

    whole = stacked(pairs(), heard, seeds)
    assert step in [spoken for _, spoken, _ in heard.steps]
    keep, logs = tmp_path / "state.safetensors", [Log(tmp_path / f"{seed}.jsonl") for seed in seeds]
    with pytest.raises(Interrupted):
        stacked(pairs(), StopAt(step), seeds, logs=logs, keep=keep)
    assert read_checkpoint(keep).place.step == step + 1
    logs = [Log(log.path) for log in logs]
    resumed = stacked(pairs(), heard, seeds, logs=logs, keep=keep)
    assert equal(resumed.state().weights, whole.state().weights)
    assert equal(resumed.state().optimizers, whole.state().optimizers)
    assert without_time(resumed.logs) == without_time(whole.logs)


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("until", [1, 2, 3])
def test_a_training_handed_over_between_stages_is_one_in_one_go(heard, until, optimizer):
    seeds = [1, 2, 3]

    def pairs():
        return [planned("toy-table", seed=seed, inner_steps=2, train__optimizer=optimizer) for seed in seeds]

    whole = stacked(pairs(), heard, seeds)
    first = stacked(pairs(), heard, seeds, until=until)
    assert (first.place.stage, first.place.epoch, first.place.batch) == (until, 0, 0)
    starts = [first.state_of(k) for k in range(3)]
    second = stacked(pairs(), heard, seeds, starts=starts, logs=first.logs)
    assert equal(second.state().weights, whole.state().weights)
    assert equal(second.state().optimizers, whole.state().optimizers)
    assert without_time(second.logs) == without_time(whole.logs)


def test_runs_may_be_handed_over_in_another_order_and_with_the_moved_parts_alone(heard):
    seeds = [1, 2, 3]

    def pairs(order):
        return [planned("toy-table", seed=seed, inner_steps=2, data__seed=seed) for seed in order]

    first = stacked(pairs(seeds), heard, seeds, until=1)
    starts = []
    for k in (2, 0):
        state = first.state_of(k)
        moved = {name: value for name, value in state.weights.items() if name.split(".")[0] in ("F", "D_y", "P_y")}
        starts.append(State(state.place, moved, state.optimizers))
    training = stacked(pairs([3, 1]), heard, [3, 1], starts=starts)
    for k, seed in enumerate([3, 1]):
        dataset, method = planned("toy-table", seed=seed, inner_steps=2, data__seed=seed)
        fit(method, dataset, heard, WAY, seed=seed)
        for name, value in method.state_dict().items():
            torch.testing.assert_close(training.runs.state[name][k], value, rtol=0, atol=1e-8, msg=name)


def test_one_run_of_a_stack_can_go_on_alone(heard, tmp_path):
    seeds = [1, 2]

    def pairs():
        return [planned("toy-table", seed=seed, inner_steps=2) for seed in seeds]

    whole, first = stacked(pairs(), heard, seeds), stacked(pairs(), heard, seeds, until=2)
    keep = tmp_path / "state.safetensors"
    save(keep, first.state_of(1))
    dataset, method = pairs()[1]
    fit(method, dataset, heard, WAY, seed=2, keep=keep, resume=True)
    for name, value in method.state_dict().items():
        torch.testing.assert_close(whole.runs.state[name][1], value, rtol=0, atol=1e-8, msg=name)
