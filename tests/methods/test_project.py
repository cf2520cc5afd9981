"""Project: what the sensitive directions hold cannot be seen, and the rest is vanilla's."""

import torch

from csad.training.device import ComputeSettings
from csad.training.fit import fit
from tests.support.steps_by_hand import CPU, TWO, of_task


def people():
    """Rows in which column 2 is the bias, column 0 the target, column 1 tells of both."""
    generator = torch.Generator().manual_seed(0)
    b = torch.randint(0, 2, (120, 1), generator=generator)
    x = torch.randn(120, 4, generator=generator)
    y = (x[:, 0] + 0.5 * b[:, 0] > 0).long()
    x[:, 2] = b[:, 0]
    x[:, 1] += b[:, 0] + y
    return x, y, b


def test_what_is_predicted_does_not_change_by_a_bit_when_the_sensitive_column_does(heard):
    x, y, b = people()
    short = {"train.target_epochs": 5, "train.epochs": 5, "train.batch_size": 40}
    dataset, method = of_task("project", TWO, (TWO,), x, y, b, **short)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=0)
    predicted = method.predict(x)
    for value in (0.0, 1.0, -3.3):
        moved = x.clone()
        moved[:, 2] = value
        assert torch.equal(method.predict(moved), predicted)
        assert torch.equal(method.features(moved)["h"], method.features(x)["h"])
    # Along the reader's direction it changes by rounding alone, and along any other column it does change.
    along = x + 5 * method.directions[1]
    assert torch.allclose(method.predict(along), predicted, atol=1e-4)
    other = x.clone()
    other[:, 0] += 1
    assert (method.predict(other) - predicted).abs().max() > 0.1


def test_project_is_vanilla_on_what_is_left_of_x(heard):
    x, y, b = people()
    short = {"train.target_epochs": 2, "train.epochs": 2, "train.batch_size": 40}
    dataset, method = of_task("project", TWO, (TWO,), x, y, b, **short)
    left = method.project_out(x)
    plain_data, plain = of_task("vanilla", TWO, (TWO,), left, y, b, **short)
    assert not method.schedule()[0].common
    for made, data in ((method, dataset), (plain, plain_data)):
        fit(made, data, heard, ComputeSettings(CPU), seed=0)
    for name, value in plain.state_dict().items():
        assert torch.equal(method.state_dict()[name], value), name
    assert torch.equal(method.predict(x), plain.predict(left))
