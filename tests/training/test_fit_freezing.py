"""BatchNorm learns in the first stage and rests after: alone, stacked, stopped and gone on with."""

import pytest
import torch

from csad.data.datasets.toys import toy_image
from csad.errors import Interrupted
from csad.training.fit import fit
from tests.support.listeners import StopAt
from tests.support.stacking import WAY, apart, assert_like_single, planned, stacked

pytestmark = pytest.mark.usefixtures("double")
BOTH = pytest.mark.parametrize("method", ["csad", "vanilla"])


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr("csad.nets.backbones.resnet.WIDTHS", (4, 4, 6, 8))


def pair(method, seed=1, **settings):
    dataset = toy_image(rows=32, seed=seed)
    return planned(dataset, method, seed, net__backbone="resnet18", train__batch_size=16, **settings)


def norms(model):
    names = ("bn", "downsample.1")
    return {n: v for n, v in model.state_dict().items() if n.startswith("F.") and any(name in n for name in names)}


@BOTH
def test_batch_norm_stays_as_the_first_stage_left_it(heard, method):
    dataset, short = pair(method, train__epochs=0, train__bias_epochs=0, train__estimator_epochs=0)
    fit(short, dataset, heard, WAY, seed=1)
    dataset, whole = pair(method)
    fit(whole, dataset, heard, WAY, seed=1)
    after_first, after_all = norms(short), norms(whole)
    assert all(torch.equal(after_first[name], after_all[name]) for name in after_first)
    assert not torch.equal(after_first["F.bn1.weight"], torch.ones(4)), "it has learned before"
    assert not torch.equal(short.F.conv1.weight, whole.F.conv1.weight), "the rest of F goes on"


@pytest.mark.parametrize(("method", "step"), [("vanilla", 0), ("vanilla", 2), *(("csad", k) for k in range(0, 8, 2))])
def test_a_run_that_was_stopped_goes_on_with_batch_norm_as_it_was(heard, tmp_path, monkeypatch, step, method):
    dataset, whole = pair(method)
    fit(whole, dataset, heard, WAY, seed=1)
    monkeypatch.setattr("csad.training.fit.LOG_EVERY", 1)
    keep = tmp_path / "state.safetensors"
    dataset, stopped = pair(method)
    with pytest.raises(Interrupted):
        fit(stopped, dataset, StopAt(step), WAY, seed=1, keep=keep)
    dataset, again = pair(method)
    fit(again, dataset, heard, WAY, seed=1, keep=keep, resume=True)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())


@BOTH
def test_stacked_runs_rest_as_single_ones_do_after_shared_pretraining_too(heard, method):
    def pairs():
        return [pair(method, seed) for seed in (1, 2)]

    training = stacked(pairs(), heard, [1, 2])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 2])
    first = stacked(pairs(), heard, [1, 2], until=1)
    starts = [first.state_of(number) for number in range(2)]
    assert not any(name.startswith("F/") for name in starts[0].optimizers), "F's optimizer still moved BatchNorm"
    second = stacked(pairs(), heard, [1, 2], starts=starts)
    for name, value in training.runs.state.items():
        torch.testing.assert_close(second.runs.state[name], value, rtol=0, atol=1e-10, msg=name)


def test_batch_norm_learns_in_the_first_stage_that_moves_the_encoder(heard):
    """Without epochs of the target that is the debiasing, whether or not the bias branch was trained before."""
    for bias_epochs in (0, 1):
        dataset, late = pair("csad", train__target_epochs=0, train__bias_epochs=bias_epochs)
        fit(late, dataset, heard, WAY, seed=1)
        assert not torch.equal(norms(late)["F.bn1.weight"], torch.ones(4)), bias_epochs
        assert not torch.equal(norms(late)["F.bn1.running_mean"], torch.zeros(4)), bias_epochs
