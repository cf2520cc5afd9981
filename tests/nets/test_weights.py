"""Weights from files: what fits is taken bit for bit, what does not is told in a sentence, nothing is executed."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from csad.nets.parts import Nets, Sizes, make_backbone
from csad.nets.weights import take_weights, without_files
from tests.support.messages import Refusal, refused

SHAPE = (3, 8, 8)


def small() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))


def written(path: Path, value: Any) -> str:
    save_file(value, path) if path.suffix == ".safetensors" else torch.save(value, path)
    return str(path)


@pytest.fixture(scope="module")
def imagenet() -> dict[str, Tensor]:
    """The state of a ResNet-18 under torchvision's names, the layer of classes included."""
    torch.manual_seed(1)
    state: dict[str, Tensor] = make_backbone("resnet18", SHAPE, {"features": 0}).state_dict()
    counted = {name: value + 5 for name, value in state.items() if name.endswith("num_batches_tracked")}
    return {**state, **counted, "fc.weight": torch.ones(1000, 512), "fc.bias": torch.ones(1000)}


@pytest.mark.parametrize("name", ["imagenet.pth", "imagenet.safetensors"])
def test_resnet_18_takes_torchvisions_weights_and_leaves_its_classes(
    tmp_path: Path, imagenet: dict[str, Tensor], name: str
) -> None:
    path = written(tmp_path / name, imagenet)
    torch.manual_seed(2)
    taken = make_backbone("resnet18", SHAPE, {"weights": path}).state_dict()
    torch.manual_seed(2)
    fresh = make_backbone("resnet18", SHAPE, {}).state_dict()
    assert all(torch.equal(taken[key], value) for key, value in imagenet.items() if not key.startswith("fc."))
    assert all(torch.equal(taken[key], fresh[key]) for key in ("last.weight", "last.bias"))
    assert taken["bn1.num_batches_tracked"] == 5


def test_resnet_18_takes_back_what_it_was_itself(tmp_path: Path) -> None:
    state = make_backbone("resnet18", SHAPE, {"features": 7}).state_dict()
    path = written(tmp_path / "own.pth", state)
    taken = make_backbone("resnet18", SHAPE, {"features": 7, "weights": path}).state_dict()
    assert all(torch.equal(taken[key], value) for key, value in state.items())


@pytest.mark.parametrize(
    ("shape", "settings", "words"),
    [
        ((1, 8, 8), {}, Refusal("weights-do-not-fit")),
        (SHAPE, {"stem": "small"}, Refusal("weights-do-not-fit")),
    ],
)
def test_resnet_18_of_another_form_refuses_the_weights(
    tmp_path: Path, imagenet: dict[str, Tensor], shape: tuple[int, ...], settings: dict[str, Any], words: str
) -> None:
    path = written(tmp_path / "imagenet.pth", imagenet)
    with refused(words):
        make_backbone("resnet18", shape, {**settings, "weights": path})


def test_a_deeper_resnet_is_not_taken_for_this_one(tmp_path: Path, imagenet: dict[str, Tensor]) -> None:
    # ResNet-34 has all names of ResNet-18, with the same shapes, and more.
    more = {f"layer1.2.conv{number}.weight": torch.zeros(64, 64, 3, 3) for number in (1, 2)}
    path = written(tmp_path / "resnet34.pth", {**imagenet, **more})
    with refused("weights-do-not-fit"):
        make_backbone("resnet18", SHAPE, {"weights": path})


def test_files_of_old_lack_the_counts_of_batches(tmp_path: Path) -> None:
    state = {name: value + 1 for name, value in small().state_dict().items() if "tracked" not in name}
    net = small()
    take_weights(net, written(tmp_path / "old.pth", state))
    assert all(torch.equal(net.state_dict()[name], value) for name, value in state.items())
    assert net[1].num_batches_tracked == 0


def test_weights_of_half_precision_are_taken_as_the_nets_own_kind(tmp_path: Path) -> None:
    net = small()
    take_weights(net, written(tmp_path / "half.safetensors", small().half().state_dict()))
    assert {weight.dtype for weight in net.parameters()} == {torch.float32}


def test_all_that_does_not_fit_is_told_at_once_and_nothing_is_taken(tmp_path: Path) -> None:
    state = small().state_dict()
    wrong = {"0.weight": torch.zeros(4, 5), "0.bias": state["0.bias"] + 1} | {f"z{k}": torch.zeros(1) for k in range(9)}
    net = small()
    before = net[0].bias.detach().clone()
    problems = (
        "the file has no 1.weight, 1.bias, 1.running_mean and 3 more; the backbone has no z0, z1, z2 and 6 more; "
        "the shape differs for 0.weight (4, 5) instead of (4, 3)"
    )
    with refused("weights-do-not-fit", file=tmp_path / "wrong.pth", problems=problems):
        take_weights(net, written(tmp_path / "wrong.pth", wrong))
    assert torch.equal(net[0].bias, before)


class Harmful:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
def test_a_file_that_would_run_code_is_refused_and_runs_none(tmp_path: Path, write: Callable[..., Any]) -> None:
    trap, file = tmp_path / "trap", tmp_path / "harmful.pth"
    write({"0.weight": Harmful(trap)}, file)
    with refused("weights-file-unsafe") as caught:
        take_weights(small(), str(file))
    assert "\n" not in str(caught.value)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("broken.pth", b"no weights at all", Refusal("weights-file-unsafe")),
        ("word.pth", b"i", Refusal("weights-file-unsafe")),
        (
            "number.pth",
            bytes([106, 1, 0, 0, 0]),
            Refusal("weights-file-unsafe"),
        ),  # begins as a pickle that recalls something
        ("empty.pth", b"", Refusal("weights-unreadable")),
        ("broken.safetensors", b"no weights at all", Refusal("weights-unreadable")),
    ],
)
def test_a_file_that_is_no_file_of_weights_is_an_input_error(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(words) as caught:
        take_weights(small(), str(tmp_path / name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [[torch.zeros(2)], {"epoch": 3, "0.weight": torch.zeros(4, 3)}])
def test_a_file_without_tensors_by_name_is_an_input_error(tmp_path: Path, value: Any) -> None:
    with refused("weights-not-state-dict"):
        take_weights(small(), written(tmp_path / "list.pth", value))


@pytest.mark.parametrize("name", ["", "missing.pth"])
def test_a_missing_file_and_a_folder_are_input_errors(tmp_path: Path, name: str) -> None:
    with refused("weights-file-missing"):
        make_backbone("resnet18", SHAPE, {"weights": str(tmp_path / name)})


def test_where_weights_come_from_elsewhere_the_file_is_not_read() -> None:
    settings = {"weights": "missing.pth", "features": 9}
    assert Nets(Sizes("resnet18", settings=settings), SHAPE, 2, (2,)).features == 9
    with without_files():
        net: Any = make_backbone("resnet18", SHAPE, settings)
    assert not net.train().bn1.training
    with refused("weights-file-missing"):
        make_backbone("resnet18", SHAPE, settings)
