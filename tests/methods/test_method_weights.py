"""A method takes on the weights that a file holds, or says what is wrong with them."""

import pytest
import torch

from tests.support.messages import refused
from tests.support.stacking import planned


def copies(method):
    return {name: value.detach().clone() for name, value in method.named_tensors().items()}


@pytest.mark.parametrize("name", ["vanilla", "csad", "lff", "sensr"])
def test_a_method_takes_on_anothers_weights_and_buffers(name):
    (dataset, trained), (_, fresh) = planned("toy-table", name, seed=1), planned("toy-table", name, seed=2)
    trained.prepare(dataset.train, dataset.view)
    weights = copies(trained)
    fresh.load_weights(weights)
    assert fresh.named_tensors().keys() == weights.keys()
    assert all(torch.equal(value, weights[key]) for key, value in fresh.named_tensors().items())


def test_tensors_stay_the_same_objects():
    _, method = planned("toy-table")
    before = method.named_tensors()
    method.load_weights({name: value + 1 for name, value in copies(method).items()})
    assert all(value is before[name] for name, value in method.named_tensors().items())


def test_weights_of_another_net_are_an_error_that_names_their_source():
    _, method = planned("toy-table")
    weights = copies(method)
    with refused("checkpoint-unreadable", file="a.file"):
        method.load_weights(weights | {"P_y.more": torch.zeros(1)}, "a.file")
    shorter = {name: value[:1] if name == "D_y.0.weight" else value for name, value in weights.items()}
    with refused("checkpoint-unreadable", file="The checkpoint"):
        method.load_weights(shorter)
