"""Precision and repeatability hold inside and are put back outside."""

import pytest
import torch

from csad.errors import InputError
from csad.training.checkpoint import Place, State, load, save
from csad.training.device import choose_device, computing_in, repeatable


def tf32():
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


@pytest.mark.parametrize(("precision", "inside"), [("float32", (False, False)), ("tf32", (True, True))])
def test_a_precision_holds_inside_and_the_callers_is_put_back(precision, inside):
    before = tf32()
    with computing_in(precision):
        assert tf32() == inside
    assert tf32() == before


def test_random_numbers_and_determinism_of_the_caller_are_left_alone():
    torch.manual_seed(4)
    expected = torch.rand(3)
    torch.manual_seed(4)
    with repeatable(torch.device("cpu"), deterministic=True):
        torch.rand(100)
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("name", ["meta", "gpu", "cuda:99", ""])
def test_a_device_that_is_not_here_is_an_input_error(name):
    with pytest.raises(InputError, match="There is no device"):
        choose_device(name)


def test_a_checkpoint_of_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("csad.training.checkpoint.FORMAT", "another")
    save(tmp_path / "state.safetensors", State(Place(), {"weight": torch.ones(2)}, {}))
    monkeypatch.undo()
    with pytest.raises(InputError, match="not a checkpoint of this version"):
        load(tmp_path / "state.safetensors")
