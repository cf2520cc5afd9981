"""Methods on the toy table."""

import pytest
import torch

from csad.methods.method import Encoded


@pytest.fixture
def encoded(make):
    """A method on the toy table and one mini-batch of it, encoded with gradient."""

    def made(name, **settings):
        dataset, method = make("toy-table", name, **settings)
        train = dataset.train
        method.prepare(train, dataset.view)
        rows = torch.arange(16)
        h = method.F(method.mask_input(dataset.view(train.x[rows])))
        return method, Encoded(h, train.y[rows], train.b[rows], rows)

    return made
