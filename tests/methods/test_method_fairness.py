"""What zhang, cocl and project have in common: weights, stacks, numbers, and labels that are unknown."""

import pytest
import torch

from csad.data.samples import Classes, Number
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from tests.support.messages import refused
from tests.support.stacking import apart, assert_like_single, planned, stacked
from tests.support.steps_by_hand import CPU, NAN, TWO, of_task


@pytest.mark.parametrize("name", ["zhang", "cocl"])
def test_a_weight_below_zero_is_refused(make, name):
    with refused("negative-setting", setting="debias_weight"):
        make("toy-table", name, debias_weight=-1.0)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", ["zhang", "cocl"])
def test_stacked_runs_may_differ_in_their_weight(heard, name):
    def pairs():
        return [planned("toy-table", name, 1, debias_weight=w, train__rate=1e-2) for w in (0.0, 0.1, 10.0)]

    training = stacked(pairs(), heard, [1, 1, 1])
    assert apart(training)
    assert_like_single(training, pairs(), heard, [1, 1, 1])


@pytest.mark.parametrize("name", ["zhang", "cocl", "project"])
@pytest.mark.parametrize("target", [Classes(3), Number()])
def test_targets_and_biases_may_be_numbers_and_labels_unknown(heard, name, target):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 4, generator=generator)
    age, group = 40 + 10 * x[:, 0], (x[:, 1] > 0).float()
    b = torch.stack([group, age], 1)
    b[::7, 0], b[::5, 1] = NAN, NAN
    y = torch.arange(60) % 3 if isinstance(target, Classes) else x.sum(1)
    short = {"train.target_epochs": 2, "train.epochs": 2, "train.batch_size": 20}
    dataset, method = of_task(name, target, (TWO, Number()), x, y, b, **short)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    assert all(torch.isfinite(value).all() for value in method.state_dict().values())
    assert method.predict(x).shape == (60, 3 if isinstance(target, Classes) else 1)
