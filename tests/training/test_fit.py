"""A training as a whole: order, log, checkpoints, NaN, advice."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from csad.errors import Diverged
from csad.messages import message
from csad.methods.method import Stage
from csad.training import checkpoint
from csad.training.batches import OwnBatches
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from csad.training.log import Log
from tests.support.messages import codes, noticed, refused

CPU = torch.device("cpu")


def test_the_learning_rate_falls_in_steps():
    stage = Stage("s", (), epochs=5, rate=1.0, decay=0.1, decay_every=3)
    assert [stage.rate_at(epoch) for epoch in range(5)] == pytest.approx([1, 1, 1, 0.1, 0.1])
    assert Stage("s", (), epochs=5, rate=1.0).rate_at(4) == 1.0


def test_the_order_of_batches_follows_from_seed_stage_epoch_and_stream_alone(make):
    dataset, method = make()

    def order(seed, stage, epoch, stream=0):
        return torch.cat(OwnBatches(dataset, method.course, seed, CPU).order(stage, epoch, stream)).tolist()

    first = order(0, 0, 0)
    assert order(0, 0, 0) == first
    others = [order(1, 0, 0), order(0, 1, 0), order(0, 0, 1), order(0, 0, 0, 1)]
    assert all(other != first and sorted(other) == sorted(first) for other in others)


def test_a_target_in_balance_is_drawn_alike(make):
    dataset, method = make(train__balance="target", train__batch_size=30)
    batches = OwnBatches(dataset, method.course, 0, CPU)
    for rows in batches.order(0, 0):
        assert np.bincount(dataset.train.y[rows].numpy()).tolist() == [15, 15]


def test_a_stage_that_leaves_F_alone_runs_it_once_over_the_training_set(make, heard):
    dataset, method = make(train__target_epochs=0, train__estimator_epochs=0, train__epochs=0, train__bias_epochs=3)
    rows = []
    method.F.register_forward_hook(lambda module, given, h: rows.append(len(h)))
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert sum(rows) == len(dataset.train)


def test_the_log_holds_every_update_of_every_stage(make, heard, tmp_path):
    dataset, method = make()
    log = fit(method, dataset, heard, ComputeSettings(CPU), seed=0, log=Log(tmp_path / "log.jsonl"))
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert lines == log.lines
    by_stage = {line["stage"]: set(line["losses"]) for line in lines}
    assert by_stage == {
        "target": {"target"},
        "bias": {"bias"},
        "estimator": {"estimator"},
        "debias": {"target", "bias", "estimator", "debias"},
    }
    assert heard.steps[-1][1] + 1 == heard.steps[-1][2]


def test_the_estimator_and_the_debias_step_look_at_the_same_information(make, heard):
    dataset, method = make(inner_steps=1, debias_weight=1.0, train__rate=1e-9)
    log = fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    curves = log.curves("debias")
    assert curves["debias"] == pytest.approx([-value for value in curves["estimator"]], rel=1e-3)


def test_a_loss_that_is_not_a_number_stops_the_training_by_name_and_step(make, heard, tmp_path):
    dataset, method = make(data__rows=320, train__bias_epochs=2)
    keep = tmp_path / "state.safetensors"
    stages = method.schedule()
    calls = []

    def spoiled(e):
        calls.append(1)
        return method.bias_loss(e) * (float("nan") if len(calls) == 5 else 1.0)

    bias = stages[1].updates[0]
    broken = stages[1]._replace(updates=(type(bias)("bias", bias.moves, spoiled),))
    method.schedule = lambda: (stages[0], broken, *stages[2:])
    with pytest.raises(Diverged, match=r"update 'bias' is not a number at step 14\b.*last good checkpoint is kept"):
        fit(method, dataset, heard, ComputeSettings(CPU), seed=0, keep=keep)
    kept = checkpoint.read_checkpoint(keep)
    assert (kept.place.stage, kept.place.step) == (1, 10)
    assert checkpoint.weights_finite(kept.weights)


def test_a_checkpoint_is_replaced_whole_and_leaves_nothing_half_written(make, heard, tmp_path):
    dataset, method = make()
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0, keep=tmp_path / "checkpoint" / "state.safetensors")
    assert [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["state.safetensors"]


def test_resuming_a_finished_training_changes_nothing(make, heard, tmp_path):
    keep = tmp_path / "state.safetensors"
    dataset, method = make()
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0, keep=keep)
    before = {name: value.clone() for name, value in method.state_dict().items()}
    _, again = make(seed=9)
    fit(again, dataset, heard, ComputeSettings(CPU), seed=0, keep=keep, resume=True)
    assert all(torch.equal(value, before[name]) for name, value in again.state_dict().items())


def test_a_target_that_falls_to_chance_is_told_with_advice(make, heard):
    dataset, method = make(debias_weight=1e4, train__target_epochs=20, train__epochs=30, train__rate=0.05)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert noticed(heard.warnings, "target-at-chance")
    assert "debias_weight" in message("target-at-chance")


def test_an_estimator_that_learns_nothing_is_told_with_advice(make, heard):
    dataset, method = make(train__rate=1e-12, train__estimator_epochs=3)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert codes(heard.warnings).count("estimator-learned-nothing") == 1


def test_scales_that_run_away_are_told_with_advice(make, heard):
    dataset, method = make()
    with torch.no_grad():
        method.M.scale_other.theta.fill_(50.0)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert noticed(heard.warnings, "scale-ran-away", name="scale_other")


@pytest.mark.parametrize(("pairs", "theta", "told"), [("sum", -5.0, 1), ("mean", -5.0, 0), ("mean", 50.0, 1)])
def test_an_alpha_that_goes_to_zero_is_no_fault_where_pairs_are_averaged(make, pairs, theta, told):
    _, method = make(pairs=pairs)
    with torch.no_grad():
        method.M.scale_related.theta.fill_(theta)
    curves = {"target": [0.6, 0.6], "estimator": [1.0, 0.9]}
    warnings = method.diagnose("debias", curves)
    assert codes(warnings).count("scale-ran-away") == told
    assert noticed(warnings, "scale-ran-away", name="scale_related") == bool(told)


def test_a_sound_training_gives_no_warning(make, heard):
    dataset, method = make(train__target_epochs=5, train__estimator_epochs=20, train__rate=1e-3)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert heard.warnings == []


def test_what_does_not_fit_into_memory_is_told_in_one_sentence(make, heard):
    dataset, method = make("toy-table", "vanilla")

    def too_large(x):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of …")

    with refused("out-of-memory", device="cpu", reason="Tried to allocate 2.00 GiB"):
        fit(method, replace(dataset, view=too_large), heard, ComputeSettings(CPU), seed=0)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_deterministic_training_on_the_gpu_gives_the_same_weights_twice(make, heard):
    weights = []
    for _ in range(2):
        dataset, method = make("toy-image", "csad")
        fit(method, dataset, heard, ComputeSettings(torch.device("cuda"), deterministic=True), seed=0)
        weights.append([weight.clone() for weight in method.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*weights, strict=True))
