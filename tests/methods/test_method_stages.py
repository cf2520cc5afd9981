"""A stage that is common is the same whatever the method and its own settings: runs may share it."""

import itertools

import pytest

from csad.registry import METHODS
from csad.runs.build import plan_run, read_dataset
from csad.training.stacking import Alone
from tests.support.stacking import equal, planned, stacked

pytestmark = pytest.mark.usefixtures("double")


def after_common_stages(method_name, heard, **settings):
    """For each common stage at the beginning, by name, the weights that it has moved."""
    found = {}
    _, method = planned("toy-table", method_name, seed=7, **settings)
    for number, stage in enumerate(itertools.takewhile(lambda s: s.common, method.schedule())):
        pair = planned("toy-table", method_name, seed=7, **settings)
        state = stacked([pair], heard, [7], until=number + 1).state_of(0).weights
        before = Alone(planned("toy-table", method_name, seed=7, **settings)[1]).state
        moved = {part for line in stage.updates for part in line.moves}
        found[stage.name] = {name: value for name, value in state.items() if name.split(".")[0] in moved}
        assert not equal(found[stage.name], {name: before[name] for name in found[stage.name]})
    return found


def halved(method_name):
    """Every number among a method's own settings, halved."""
    _, plan = plan_run("toy-table", method_name, {}, "", read_dataset)
    numbers = {n: v for n, v in plan.settings.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return {name: max(1, value // 2) if isinstance(value, int) else value / 2 for name, value in numbers.items()}


def test_a_common_stage_does_not_depend_on_the_methods_own_settings(heard, method_name):
    usual, other = (after_common_stages(method_name, heard, **own) for own in ({}, halved(method_name)))
    assert usual.keys() == other.keys()
    for stage, weights in usual.items():
        assert equal(weights, other[stage]), stage


def test_a_common_stage_is_alike_in_every_method_that_has_one_of_its_name(heard):
    found = {}
    for method_name in METHODS.names():
        for stage, weights in after_common_stages(method_name, heard).items():
            found.setdefault(stage, []).append((method_name, weights))
    assert len(found["target"]) > 1
    for stage, each in found.items():
        name, weights = each[0]
        for other, same in each[1:]:
            assert equal(weights, same), f"{stage} of {name} and of {other}"
