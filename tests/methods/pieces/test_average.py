"""The moving average of weights: its numbers by hand, which weights it replaces, and that it survives a stop."""

import pytest
import torch
from torch import nn

from csad.errors import Interrupted
from csad.methods.method import Course
from csad.methods.pieces.average import Average
from csad.training.checkpoint import read_checkpoint
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from tests.support.listeners import StopAt
from tests.support.messages import refused

WAY = ComputeSettings(torch.device("cpu"))
BRANCH = ("F", "D_y", "P_y")


class One(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([float(value)], dtype=torch.double))


def averages(decay, weights):
    """The average after each of the weights."""
    average = Average({"A": One(0)}, decay).double()
    found = []
    for weight in weights:
        for name, value in average.after({"A.w": torch.tensor([float(weight)], dtype=torch.double)}).items():
            average.get_buffer(name).copy_(value)
        found.append(average.get_buffer("A-w").item())
    return found


def test_the_average_by_hand():
    # The first weights are taken as they are; then 1/11, 2/12 and 3/13 of the average are kept, and no more than 1/4:
    # (6 + 10·1)/11 = 16/11, (16/11 + 5·4)/6 = 118/33, (3·118/33 + 10·2)/13 = 338/143, (338/143 + 3·8)/4 = 1885/286.
    by_hand = [6, 16 / 11, 118 / 33, 338 / 143, 1885 / 286]
    assert averages(0.25, [6, 1, 4, 2, 8]) == pytest.approx(by_hand, rel=1e-14)


def test_the_share_that_is_kept_rises_to_the_decay():
    # Weights that are one first and zero ever after leave the product of all shares.
    left, product = averages(0.75, [1.0] + [0.0] * 60), 1.0
    for k in range(1, 61):
        product *= min(0.75, k / (10 + k))
        assert left[k] == pytest.approx(product, rel=1e-12)


def test_weights_that_stay_are_their_own_average():
    assert averages(0.99, [3.7] * 40) == [3.7] * 40


def watched(make, heard, method_name="csad", **settings):
    """A training that keeps an average, with the weights after each step of its last stage."""
    dataset, method = make("toy-table", method_name, train__epochs=2, data__rows=96, **settings)
    seen = []
    keep = method.averaging()[0].value

    def after_a_step():
        seen.append({name: weight.detach().clone() for name, weight in method.named_parameters()})
        return keep()

    method._average = after_a_step
    fit(method, dataset, heard, WAY, seed=0)
    return method, seen


def test_the_average_of_the_last_stage_replaces_the_target_branch_and_nothing_else(make, heard, method_name):
    method, seen = watched(make, heard, method_name, train__average=0.9)
    assert len(seen) == 6
    for name, weight in method.named_parameters():
        if name.split(".")[0] in BRANCH:
            wanted = torch.zeros_like(weight)
            for k, weights in enumerate(seen):
                kept = min(0.9, k / (10 + k))
                wanted = kept * wanted + (1 - kept) * weights[name]
            torch.testing.assert_close(weight, wanted, rtol=1e-5, atol=1e-7, msg=name)
            assert not torch.equal(weight, seen[-1][name]), name
        else:
            assert torch.equal(weight, seen[-1][name]), name


def test_keeping_an_average_does_not_change_the_training_itself(make, heard, method_name):
    _, seen = watched(make, heard, method_name, train__average=0.9)
    dataset, plain = make("toy-table", method_name, train__epochs=2, data__rows=96)
    fit(plain, dataset, heard, WAY, seed=0)
    for name, weight in plain.named_parameters():
        assert torch.equal(weight, seen[-1][name]), name


def test_without_an_average_there_is_neither_a_buffer_nor_a_line_for_it(make, method_name):
    _, plain = make("toy-table", method_name, train__average=0.0)
    _, kept = make("toy-table", method_name, train__average=0.9)
    assert not any(name.startswith("averaged") for name in plain.state_dict())
    assert plain.averaging() == ()
    assert plain.final_weights() == {}
    assert [line.name for line in kept.averaging()] == ["average"]
    extra = {name for name in kept.state_dict() if name not in plain.state_dict()}
    own = [name for name in plain.state_dict() if name.split(".")[0] in BRANCH]
    assert extra == {"averaged.decay", "averaged.steps"} | {f"averaged.{name.replace('.', '-')}" for name in own}


def test_the_average_is_saved_and_goes_on_after_a_stop(make, heard, tmp_path):
    settings = {"data__rows": 96, "train__epochs": 3, "train__average": 0.9}
    dataset, whole = make("toy-table", **settings)
    fit(whole, dataset, heard, WAY, seed=0)
    keep = tmp_path / "state.safetensors"
    dataset, method = make("toy-table", **settings)
    with pytest.raises(Interrupted):
        fit(method, dataset, StopAt(11), WAY, seed=0, keep=keep)
    saved = read_checkpoint(keep)
    assert saved.weights["averaged.steps"] == 3
    average = saved.weights["averaged.F-1-weight"]
    assert (average - saved.weights["F.1.weight"]).abs().max() > 0
    dataset, again = make("toy-table", seed=5, **settings)
    fit(again, dataset, heard, WAY, seed=0, keep=keep, resume=True)
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in whole.state_dict().items())
    assert again.averaged.steps == 9


def test_a_last_stage_without_a_step_leaves_the_weights_as_they_are(make, heard):
    weights = []
    for average in (0.0, 0.9):
        dataset, method = make("toy-table", train__epochs=0, train__average=average)
        fit(method, dataset, heard, WAY, seed=0)
        weights.append(method.F[1].weight)
    assert torch.equal(*weights)


@pytest.mark.parametrize("average", [1.0, 1.5, -0.1, float("nan")])
def test_a_share_outside_of_0_and_1_is_an_input_error(average):
    with refused("training-settings-invalid"):
        Course(average=average)
