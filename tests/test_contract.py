"""What every method must do on every kind of data, tested for each pair by itself."""

import pytest
import torch

from csad.errors import Interrupted
from csad.training.device import ComputeSettings
from csad.training.fit import fit
from tests.support.listeners import StopAt

CPU = torch.device("cpu")


def trained(make, heard, task, method_name, *, keep=None, resume=False, seed=0, **settings):
    dataset, method = make(task, method_name, seed=seed, **settings)
    fit(method, dataset, heard, ComputeSettings(CPU), seed=seed, keep=keep, resume=resume)
    return dataset, method


def same(one, other):
    return all(torch.equal(value, other.state_dict()[name]) for name, value in one.state_dict().items())


def test_a_short_training_stays_finite_and_predicts_every_row(make, heard, method_name, toy):
    dataset, method = trained(make, heard, toy, method_name)
    logits = method.predict(dataset.view(dataset.splits["test"].x))
    assert logits.shape == (len(dataset.splits["test"]), dataset.task.target.count)
    assert torch.isfinite(logits).all()
    assert all(torch.isfinite(weight).all() for weight in method.parameters())


def test_one_batch_can_be_learned(make, heard, method_name, toy):
    dataset, method = trained(
        make, heard, toy, method_name, data__rows=32, train__target_epochs=150, train__pretrain_rate=5e-3
    )
    right = method.predict(dataset.view(dataset.train.x)).argmax(1) == dataset.train.y
    assert right.float().mean() > 0.9


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(make, heard, method_name):
    one, again, other = (trained(make, heard, "toy-table", method_name, seed=s)[1] for s in (3, 3, 4))
    assert same(one, again)
    assert not same(one, other)


@pytest.mark.parametrize("step", [0, 10, 17, 31])
def test_stopping_anywhere_and_going_on_gives_the_weights_of_no_stop(make, heard, method_name, tmp_path, step):
    settings = {"data__rows": 96, "train__batch_size": 16, "train__epochs": 3, "train__decay_every": 2}
    _, whole = trained(make, heard, "toy-table", method_name, **settings)
    # Logged steps are where a listener speaks: every tenth, and the last of each epoch.
    spoken = [s for _, s, _ in heard.steps]
    at = min(spoken, key=lambda s: abs(s - step))
    keep = tmp_path / "state.safetensors"
    dataset, method = make("toy-table", method_name, **settings)
    with pytest.raises(Interrupted):
        fit(method, dataset, StopAt(at), ComputeSettings(CPU), seed=0, keep=keep)
    _, resumed = trained(make, heard, "toy-table", method_name, keep=keep, resume=True, **settings)
    assert same(whole, resumed)
