"""Models of torchvision and timm as backbones, by stand-ins for the libraries where they are not there."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from csad.data.datasets.toys import toy_image
from csad.nets.layers import ImageNetPixels
from csad.nets.parts import Nets, Sizes, library_model, make_backbone
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.training.stacking import why_not_stacked
from tests.support.messages import Refusal, refused

SHAPE = (3, 8, 8)


class Small(nn.Module):
    """A convolution, BatchNorm and a head of the given name, as torchvision's models are built."""

    def __init__(self, name: str, head: nn.Module, channels: int = 3) -> None:
        super().__init__()
        self.name = name
        self.stem = nn.Sequential(nn.Conv2d(channels, 4, 3), nn.BatchNorm2d(4), nn.ReLU())
        self.add_module(name, head)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.get_submodule(self.name)(self.stem(x).mean((2, 3)))
        return out


def plain(*, weights: None, num_classes: int = 10) -> nn.Module:
    return Small("fc", nn.Linear(4, num_classes))


def dropping(*, weights: None) -> nn.Module:
    return Small("classifier", nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 10)))


def sized(*, weights: None, image_size: int = 224) -> nn.Module:
    if image_size % 2:
        raise AssertionError("an odd size")
    return Small("heads", nn.Sequential(nn.Linear(4, image_size), nn.Linear(image_size, 10)))


def headless(*, weights: None) -> nn.Module:
    return Small("rest", nn.Identity())


def several(*, weights: None) -> nn.Module:
    net = plain(weights=None)
    net.aux_logits = True
    return net


MODELS = {"plain": plain, "dropping": dropping, "sized": sized, "headless": headless, "several": several}


@pytest.fixture
def torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    package, models = types.ModuleType("torchvision"), types.ModuleType("torchvision.models")
    models.list_models = lambda module: list(MODELS) if module is models else []  # type: ignore[attr-defined]
    models.get_model = lambda name, **options: MODELS[name](**options)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)


@pytest.fixture
def timm(monkeypatch: pytest.MonkeyPatch) -> None:
    def create_model(name: str, *, pretrained: bool, num_classes: int, in_chans: int, **more: Any) -> nn.Module:
        assert (name, pretrained, num_classes) == ("tiny", False, 0)
        if more:
            raise TypeError(f"unexpected {more}")
        net = Small("fc", nn.Identity(), in_chans)
        net.pretrained_cfg = {"classifier": ("fc", "aux")}  # type: ignore[assignment]
        return net

    package = types.ModuleType("timm")
    package.list_models = lambda: ["tiny", *(f"other{k}" for k in range(1000))]  # type: ignore[attr-defined]
    package.create_model = create_model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "timm", package)


def width(backbone: str, **settings: Any) -> int:
    return Nets(Sizes(backbone, settings=settings), SHAPE, 2, (2,)).features


@pytest.mark.usefixtures("torchvision")
def test_a_model_of_torchvision_gives_what_its_layer_of_classes_would_see() -> None:
    assert width("torchvision:plain") == 4
    assert width("torchvision:dropping") == 6
    assert width("torchvision:sized") == 224
    assert width("torchvision:sized", image_size=32) == 32


@pytest.mark.usefixtures("torchvision")
def test_the_rest_of_the_head_stays_but_for_its_dropout() -> None:
    net: Any = make_backbone("torchvision:dropping", SHAPE, {})
    assert [type(layer) for layer in net.module.classifier] == [nn.Linear, nn.ReLU, nn.Identity, nn.Identity]


@pytest.mark.usefixtures("timm")
def test_a_model_of_timm_is_asked_for_without_classes_and_with_the_channels_of_x() -> None:
    assert width("timm:tiny") == 4
    one = Nets(Sizes("timm:tiny", settings={"channels": 1}), (1, 8, 8), 2, (2,))
    assert one.features == 4


@pytest.mark.usefixtures("torchvision", "timm")
@pytest.mark.parametrize(
    ("backbone", "given", "settings"),
    [
        ("torchvision:plain", {}, {"weights": "", "batch_norm": "auto", "image_size": 0}),
        ("torchvision:sized", {"image_size": "64"}, {"weights": "", "batch_norm": "auto", "image_size": 64}),
        (
            "timm:tiny",
            {"net.batch_norm": "frozen"},
            {"weights": "", "batch_norm": "frozen", "image_size": 0, "channels": 3},
        ),
    ],
)
def test_a_plan_finds_the_settings_of_a_librarys_model(
    backbone: str, given: dict[str, str], settings: dict[str, Any]
) -> None:
    plan = resolve("csad", None, experiment("kinds/image"), {"net.backbone": backbone, **given})
    assert plan.sizes().settings == settings
    assert isinstance(build(toy_image(rows=16).task, "csad", plan, 0).F, nn.Module)


@pytest.mark.usefixtures("torchvision")
def test_a_librarys_model_can_be_stacked_and_its_batch_norm_rests_when_it_is_told_to() -> None:
    plan = resolve("vanilla", None, experiment("kinds/image"), {"backbone": "torchvision:dropping"})
    method = build(toy_image(rows=16).task, "vanilla", plan, 0)
    assert why_not_stacked(method) == ""
    F: Any = method.F
    norm = F.train().module.stem[1]
    assert norm.training
    assert F.freeze()
    assert not F.train().module.stem[1].training
    assert not norm.weight.requires_grad


@pytest.mark.usefixtures("torchvision", "timm")
@pytest.mark.parametrize(
    ("backbone", "names"),
    [("torchvision:plain", ("fc.weight", "fc.bias")), ("timm:tiny", ("fc.weight", "aux.bias"))],
)
def test_a_librarys_model_takes_weights_from_a_file_and_leaves_its_classes(
    tmp_path: Path, backbone: str, names: Sequence[str]
) -> None:
    state = Small("fc", nn.Identity()).state_dict()
    torch.save({**state, **{name: torch.zeros(10) for name in names}}, tmp_path / "own.pth")
    own: Any = make_backbone(backbone, SHAPE, {"weights": str(tmp_path / "own.pth")})
    pixels, net = own.module
    taken = net.state_dict()
    assert all(torch.equal(taken[name], value) for name, value in state.items())
    assert isinstance(pixels, ImageNetPixels)
    own.train()
    assert not net.stem[1].training
    torch.save({"stem.0.weight": torch.zeros(1)}, tmp_path / "wrong.pth")
    with refused("weights-do-not-fit"):
        make_backbone(backbone, SHAPE, {"weights": str(tmp_path / "wrong.pth")})


@pytest.mark.usefixtures("torchvision", "timm")
@pytest.mark.parametrize(
    ("backbone", "settings", "words"),
    [
        (
            "torchvision:plane",
            {},
            Refusal("misspelled-name", kind="model of torchvision", name="plane", nearest="plain", known="plain"),
        ),
        (
            "timm:tinny",
            {},
            Refusal("misspelled-name", kind="model of timm", name="tinny", nearest="tiny", known="tiny"),
        ),
        ("torchvision:", {}, Refusal("unknown-name", kind="model of torchvision")),
        ("torchvision:plain", {"image_size": 32}, Refusal("backbone-build-failed", backbone="torchvision:plain")),
        ("torchvision:plain", {"filters": 3}, Refusal("backbone-build-failed", backbone="torchvision:plain")),
        (
            "torchvision:sized",
            {"image_size": 33},
            Refusal("backbone-build-failed", backbone="torchvision:sized", reason="an odd size"),
        ),
        ("torchvision:sized", {"image_size": -1}, Refusal("net-size-below-one", sizes="net.image_size = -1")),
        ("torchvision:headless", {}, Refusal("no-classification-layer")),
        ("torchvision:several", {}, Refusal("backbone-several-outputs")),
        ("torchvision:plain", {"batch_norm": "off"}, Refusal("unknown-batch-norm-policy")),
        ("timm:tiny", {"image_size": 32}, Refusal("backbone-build-failed", backbone="timm:tiny")),
        ("timm:tiny", {"channels": 0}, Refusal("net-size-below-one", sizes="net.channels = 0")),
    ],
)
def test_what_a_library_has_not_or_refuses_is_an_input_error(
    backbone: str, settings: dict[str, Any], words: str
) -> None:
    with refused(words) as caught:
        make_backbone(backbone, SHAPE, settings)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_a_library_that_is_not_there_is_told_in_one_sentence(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (library, f"{library}.models"):
        monkeypatch.setitem(sys.modules, module, None)  # as Python itself marks what cannot be imported
    with refused("backbone-library-missing", library=library, name="resnet18") as caught:
        library_model(f"{library}:resnet18")
    assert "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["torchvision", "timm"])
def test_the_real_library_gives_resnet_18_or_is_told_to_be_missing(library: str) -> None:
    try:
        importlib.import_module(library)
    except Exception:  # one that was made for another torch raises a RuntimeError
        with refused("backbone-library-missing"):
            width(f"{library}:resnet18")
        return
    net: Any = make_backbone(f"{library}:resnet18", SHAPE, {})
    ours = make_backbone("resnet18", SHAPE, {"features": 0, "batch_norm": "frozen"})
    ours.load_state_dict(net.module.state_dict())
    x = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(net.eval()(x), ours(x), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.gpu  # where torchvision comes with torch; it need not be asked for elsewhere
@pytest.mark.parametrize(
    ("name", "features"),
    [("mobilenet_v3_small", 1024), ("densenet121", 1024), ("squeezenet1_1", 512), ("swin_t", 768), ("vit_b_16", 768)],
)
def test_real_models_of_torchvision_lose_their_classes(name: str, features: int) -> None:
    try:
        importlib.import_module("torchvision")
    except Exception as error:
        pytest.skip(f"torchvision cannot be imported ({error})")
    nets = Nets(Sizes(f"torchvision:{name}"), (3, 224, 224), 2, (2,))
    assert nets.features == features
