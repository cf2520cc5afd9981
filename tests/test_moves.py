"""What a step changes, bit by bit, is what its update says it moves; for every method, by itself."""

import pytest
import torch

from csad.methods.method import Assign
from csad.training.batches import OwnBatches
from csad.training.iterate import iterate
from csad.training.optimizers import Optimizers
from csad.training.stacking import Alone
from csad.training.steps import encode


def parts_of(method):
    return [name for name, _ in method.named_children()]


def snapshot(method):
    return {name: value.clone() for name, value in method.state_dict().items()}


def changed_parts(before, after):
    return {name.split(".")[0] for name in before if not torch.equal(before[name], after[name])}


def test_each_update_changes_the_parts_it_moves_and_no_other(make, method_name):
    dataset, method = make("toy-table", method_name)
    batches = OwnBatches(dataset, method.course, 0, torch.device("cpu"))
    method.prepare(batches.train, batches.view)
    rows = batches.order(0, 0)[0]
    seen = 0
    for stage in method.schedule():
        for line in stage.updates:
            before = snapshot(method)
            optimizers = Optimizers(Alone(method).weights, "adam", 0.0)
            source = lambda gradient: encode(Alone(method), batches, rows, gradient)  # noqa: E731
            iterate(Alone(method), (line,), source, source, optimizers, torch.tensor(1e-2, dtype=torch.float64))
            after = snapshot(method)
            weights = dict(method.named_parameters())
            if isinstance(line, Assign):
                assert all(torch.equal(before[name], after[name]) for name in weights), line.name
            else:
                moved = {name: before[name] for name in weights}
                assert changed_parts(moved, after) == set(line.moves), line.name
            seen += 1
    assert seen >= 1


def test_every_part_that_predicts_is_moved_by_some_update(make, method_name):
    _, method = make("toy-table", method_name)
    moved = {part for stage in method.schedule() for line in stage.updates for part in line.moves}
    assert moved <= set(parts_of(method))
    assert {"F", "D_y", "P_y"} <= moved


@pytest.mark.parametrize("momentum", ["adam", "sgd"])
def test_an_update_leaves_no_gradient_behind(make, method_name, momentum):
    dataset, method = make("toy-table", method_name)
    batches = OwnBatches(dataset, method.course, 0, torch.device("cpu"))
    method.prepare(batches.train, batches.view)
    rows = batches.order(0, 0)[0]
    source = lambda gradient: encode(Alone(method), batches, rows, gradient)  # noqa: E731
    runs, rate = Alone(method), torch.tensor(1e-3, dtype=torch.float64)
    iterate(runs, method.schedule()[-1].updates, source, source, Optimizers(runs.weights, momentum, 1e-3), rate)
    assert all(weight.grad is None for weight in method.parameters())
