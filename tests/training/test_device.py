"""Precision and repeatability hold inside and are put back outside."""

import subprocess
import sys

import pytest
import torch

from csad.training.checkpoint import Place, State, read_checkpoint, save
from csad.training.device import choose_device, computing_in, repeatable
from tests.support.messages import refused


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


def test_determinism_that_the_caller_only_wants_to_be_warned_of_is_strict_inside():
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with repeatable(torch.device("cpu"), deterministic=True):
            assert not torch.is_deterministic_algorithms_warn_only_enabled()
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        with repeatable(torch.device("cpu"), deterministic=False):
            assert torch.is_deterministic_algorithms_warn_only_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("deterministic", [False, True])
def test_determinism_that_the_caller_wants_is_kept(deterministic):
    torch.use_deterministic_algorithms(True)
    try:
        with repeatable(torch.device("cpu"), deterministic=deterministic):
            assert torch.are_deterministic_algorithms_enabled()
        assert torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_training_does_not_load_the_compiler_unless_determinism_is_asked_for():
    code = """
import sys, csad
csad.train("toy-table", "vanilla", settings={"train.target_epochs": 1}, device="cpu")
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["meta", "gpu", "cuda:99", ""])
def test_a_device_that_is_not_here_is_an_input_error(name):
    with refused("device-not-available"):
        choose_device(name)


def test_a_checkpoint_of_another_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("csad.training.checkpoint.FORMAT", "another")
    save(tmp_path / "state.safetensors", State(Place(), {"weight": torch.ones(2)}, {}))
    monkeypatch.undo()
    with refused("checkpoint-other-version", file=tmp_path / "state.safetensors"):
        read_checkpoint(tmp_path / "state.safetensors")
