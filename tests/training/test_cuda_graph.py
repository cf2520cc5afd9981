"""When a step is recorded, and what happens where that fails; the recording itself needs a GPU (``test_record``)."""

import pytest
import torch

from csad.training import cuda_graph
from csad.training.batches import OwnBatches
from csad.training.cuda_graph import EAGER_STEPS, Recorder
from csad.training.device import ComputeSettings
from csad.training.stacking import Alone
from csad.training.steps import Steps, optimizers_of
from tests.support.messages import codes, noticed


class StandIns:
    """Made in place of recordings: each calls the step; what they were made from is remembered."""

    def __init__(self):
        self.made, self.broken = [], ""

    def __call__(self, step, rows, owned):
        if self.broken:
            raise RuntimeError(self.broken)
        stand_in = StandIn(step, rows[0].shape)
        self.made.append((tuple(rows[0].shape), list(owned)))
        return stand_in


class StandIn:
    def __init__(self, step, shape):
        self.step, self.shape, self.replayed = step, shape, 0

    def __call__(self, rows):
        assert rows[0].shape == self.shape
        self.replayed += 1
        return self.step(rows)


@pytest.fixture
def stand_in(monkeypatch):
    made = StandIns()
    monkeypatch.setattr(cuda_graph, "Recording", made)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)  # there may be no device to wait for
    return made


def recorder(heard, owned=()):
    return Recorder(lambda rows: {"sum": rows[0].sum()}, lambda: owned, heard.warn)


def rows(size):
    return (torch.arange(size),)


def test_each_shape_is_run_eagerly_at_first_and_then_recorded_once(heard, stand_in):
    step = recorder(heard)
    for _ in range(EAGER_STEPS):
        assert step(rows(5))["sum"] == 10
        assert step(rows(3))["sum"] == 3
    assert stand_in.made == []
    assert step(rows(5))["sum"] == 10
    assert [shape for shape, _ in stand_in.made] == [(5,)]
    for _ in range(4):
        assert step(rows(3))["sum"] == 3
        assert step(rows(5))["sum"] == 10
    assert [shape for shape, _ in stand_in.made] == [(5,), (3,)]
    assert [each.replayed for each in step.recordings.values()] == [5, 4]
    assert heard.warnings == []


def test_rows_of_fresh_batches_belong_to_the_shape(heard, stand_in):
    step = recorder(heard)
    for _ in range(EAGER_STEPS + 1):
        step((torch.arange(5), torch.arange(2)))
        step((torch.arange(5), torch.arange(3)))
    assert len(step.recordings) == 2


def test_a_recording_is_handed_what_is_there_when_it_is_made(heard, stand_in):
    owned = []
    step = recorder(heard, owned)
    for _ in range(EAGER_STEPS):
        step(rows(5))
    owned.append(torch.ones(2))  # an optimizer is made in the first step
    step(rows(5))
    (_, given), *_ = stand_in.made
    assert given[0] is owned[0]


def test_after_a_failure_all_goes_on_eagerly_with_one_warning(heard, stand_in):
    stand_in.broken = "operation not permitted when stream is capturing\nand more that nobody reads"
    step = recorder(heard)
    for _ in range(5):
        assert step(rows(5))["sum"] == 10
        assert step(rows(3))["sum"] == 3
    stand_in.broken = ""
    for _ in range(5):
        assert step(rows(5))["sum"] == 10
    assert stand_in.made == []
    assert codes(heard.warnings) == ["cuda-graph-not-recorded"]
    reason = "operation not permitted when stream is capturing"
    assert noticed(heard.warnings, "cuda-graph-not-recorded", reason=reason)


def test_a_shape_that_was_recorded_before_a_failure_is_still_replayed(heard, stand_in):
    step = recorder(heard)
    for _ in range(EAGER_STEPS + 1):
        step(rows(5))
    stand_in.broken = "out of memory"
    for _ in range(EAGER_STEPS + 1):
        step(rows(3))
    step(rows(5))
    assert next(iter(step.recordings.values())).replayed == 2
    assert len(heard.warnings) == 1


def test_an_error_that_is_no_matter_of_recording_is_not_hidden(heard, stand_in, monkeypatch):
    def wrong(*_):
        raise KeyError("rows")

    monkeypatch.setattr(cuda_graph, "Recording", wrong)
    step = recorder(heard)
    for _ in range(EAGER_STEPS):
        step(rows(5))
    with pytest.raises(KeyError):
        step(rows(5))


def test_a_recording_owns_the_rate_the_weights_the_buffers_and_the_moments(make):
    dataset, method = make("toy-table", train__average=0.9)
    cpu, runs = torch.device("cpu"), Alone(method)
    batches = OwnBatches(dataset, method.course, 0, cpu)
    optimizers = optimizers_of(runs, cpu)
    steps = Steps(runs, batches, optimizers, 3, ComputeSettings(cpu), lambda text: None)
    steps(steps.epoch(0)[0])
    owned = {id(thing) for thing in steps._owned()}
    wanted = [steps.rate, steps.feed, *method.parameters(), *method.buffers(), *optimizers.by_part.values()]
    assert {id(thing) for thing in wanted} <= owned


def test_nothing_is_recorded_on_a_cpu(make):
    dataset, method = make("toy-table")
    cpu, runs = torch.device("cpu"), Alone(method)
    batches = OwnBatches(dataset, method.course, 0, cpu)
    for way in (ComputeSettings(cpu), ComputeSettings(cpu, record=False)):
        assert Steps(runs, batches, optimizers_of(runs, cpu), 0, way, print).recorder is None
