"""The parts by letter: their shapes, how many weights they hold, how they begin, and what a backbone may be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from csad.data.datasets.toys import toy_image, toy_table
from csad.methods.method import Method
from csad.nets.layers import at_least_one, dense
from csad.nets.parts import Nets, Sizes, own_class
from csad.runs.build import build
from csad.runs.settings import experiment, resolve
from csad.sweeps.train import train
from tests.support.messages import Refusal, refused

PAPER = Nets(Sizes(), (3, 28, 28), 10, (8, 8, 8))
SHORT = {"target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1}


def weights(part: nn.Module) -> int:
    return sum(weight.numel() for weight in part.parameters())


def made(method: str, seed: int) -> Method:
    dataset = toy_image(rows=16)
    plan = resolve(method, None, experiment("kinds/image"), {})
    return build(dataset.task, method, plan, seed)


def test_the_papers_branch_and_heads_have_the_papers_sizes() -> None:
    assert PAPER.features == 1024
    assert weights(PAPER.branch()) == 1024 * 128 + 128
    assert weights(PAPER.target_head()) == (128 * 64 + 64) + (64 * 10 + 10)
    assert weights(PAPER.bias_heads()) == 3 * ((128 * 64 + 64) + (64 * 8 + 8))
    assert weights(PAPER.estimator_net()) == (128 * 128 + 128) + (128 * 64 + 64) + (64 * 64 + 64)


def test_the_parts_fit_onto_one_another() -> None:
    h = PAPER.extractor()(torch.zeros(2, 3, 28, 28))
    h_y = PAPER.branch()(h)
    assert (h.shape, h_y.shape) == ((2, 1024), (2, 128))
    assert PAPER.target_head()(h_y).shape == (2, 10)
    assert [out.shape for out in PAPER.bias_heads()(h_y)] == [(2, 8)] * 3
    assert PAPER.estimator_net()(h_y).shape == (2, 64)


def test_a_head_without_hidden_layers_is_one_linear_layer() -> None:
    nets = Nets(Sizes("mlp", branch=32, head=(), estimator=(16, 4)), (8,), 2, (3,))
    assert weights(nets.target_head()) == 32 * 2 + 2
    assert weights(nets.estimator_net()) == (32 * 16 + 16) + (16 * 4 + 4)


def test_without_a_branch_the_heads_read_h_itself() -> None:
    nets = Nets(Sizes("mlp", branch=0, head=(), estimator=(4,), settings={"hidden": (100,)}), (41,), 2, (2,))
    h = nets.extractor()(torch.ones(3, 41))
    assert nets.branch()(h) is h
    # The two-layer net of the fairness papers, 41-100-2.
    assert weights(nets.extractor()) + weights(nets.branch()) + weights(nets.target_head()) == 4402
    assert nets.estimator_net()(h).shape == (3, 4)


def test_a_branch_is_linear_unless_a_relu_is_asked_for() -> None:
    h = torch.randn(50, 64, generator=torch.Generator().manual_seed(0))
    plain = Nets(Sizes("mlp"), (8,), 2, (2,)).branch()
    bent = Nets(Sizes("mlp", branch_relu=True), (8,), 2, (2,)).branch()
    assert plain(h).min() < 0
    assert bent(h).min() == 0
    assert torch.allclose(plain(h) + plain(-h), 2 * plain(torch.zeros(1, 64)), atol=1e-5)


def test_dense_layers_have_leaky_relu_between_them_and_none_after_the_last() -> None:
    net = dense((1, 1, 1))
    for layer in (net[0], net[2]):
        nn.init.constant_(layer.weight, 2.0)
        nn.init.zeros_(layer.bias)
    assert net(torch.tensor([[3.0], [-3.0]])).flatten().tolist() == pytest.approx([12.0, -0.12])


def test_weights_begin_with_kaimings_deviation() -> None:
    torch.manual_seed(0)
    for part, fan_in in ((dense((1024, 128)), 1024), (PAPER.extractor()[3:4], 64 * 25), (dense((64, 4096)), 64)):
        weight = next(part.parameters())
        assert weight.std().item() == pytest.approx((2 / fan_in) ** 0.5, rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=0.002)


def test_the_target_branch_begins_alike_in_every_method() -> None:
    vanilla, csad = made("vanilla", 3).state_dict(), made("csad", 3).state_dict()
    assert {name.split(".")[0] for name in vanilla} == {"F", "D_y", "P_y"}
    assert all(torch.equal(value, csad[name]) for name, value in vanilla.items())


def test_another_seed_begins_with_other_weights_and_the_same_one_with_the_same() -> None:
    one, same, other = (made("csad", seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["F.0.weight"], other["F.0.weight"])
    assert not torch.equal(one["M.M_y.0.weight"], one["M.M_b.0.weight"])


def test_building_leaves_the_callers_random_numbers_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    made("csad", 0)
    assert torch.equal(torch.rand(3), wanted)


def test_finding_the_width_of_h_leaves_the_random_numbers_alone() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    assert Nets(Sizes(), (3, 28, 28), 10, (8,)).features == 1024
    assert torch.equal(torch.rand(3), wanted)


def test_finding_the_width_of_h_leaves_a_users_batch_statistics_alone() -> None:
    own = nn.Sequential(nn.Linear(8, 5), nn.BatchNorm1d(5))
    nets = Nets(Sizes(own), (8,), 2, (2,))
    assert nets.features == 5
    assert own.training
    assert own[1].num_batches_tracked == 0


def test_a_users_module_is_copied_so_that_training_leaves_it_alone() -> None:
    own = nn.Sequential(nn.Linear(8, 6), nn.ReLU())
    before = own[0].weight.detach().clone()
    run = train(toy_table(rows=32), "vanilla", backbone=own, settings=SHORT, device="cpu")
    assert torch.equal(own[0].weight, before)
    assert run.method.F.module[0] is not own[0]
    assert not torch.equal(run.method.F.module[0].weight, before)


def test_frozen_weights_of_a_users_module_stay_while_the_others_move() -> None:
    own = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))
    own[0].requires_grad_(False)
    run = train(toy_table(rows=32), "csad", backbone=own, settings=SHORT, device="cpu")
    frozen, free = run.method.F.module[0], run.method.F.module[2]
    assert torch.equal(frozen.weight, own[0].weight)
    assert torch.equal(frozen.bias, own[0].bias)
    assert not torch.equal(free.weight, own[2].weight)


def test_maps_of_a_users_module_are_laid_out_as_rows() -> None:
    nets = Nets(Sizes(nn.Conv2d(3, 4, 3)), (3, 8, 8), 2, (2,))
    assert nets.features == 4 * 6 * 6


OWN_MODULE = '''
from torch import nn

class Net(nn.Module):
    """Width by annotation, depth by its default, a norm that no config can hold."""
    def __init__(self, width: int = 8, depth=1, norm=nn.Identity, extra=None, **more):
        super().__init__()
        assert norm is nn.Identity and extra is None and not more
        self.layers = nn.Sequential(*(nn.Linear(8, 8) for _ in range(depth)), nn.Linear(8, width), norm())
    def forward(self, x):
        return self.layers(x)

class Needs(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.layer = nn.Linear(8, width)
    def forward(self, x):
        return self.layer(x)

class Fails(nn.Module):
    def forward(self, x):
        raise NotImplementedError

class Tuple(nn.Module):
    def forward(self, x):
        return x, x

number = 3

def made():
    return Net()
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_backbones.py").write_text(OWN_MODULE)
    (tmp_path / "own_broken.py").write_text("raise OSError\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "own_backbones"


def test_a_backbone_by_path_takes_the_settings_of_its_signature(own: str) -> None:
    settings = {"net.backbone": f"{own}:Net", "net.width": "5", "net.depth": "2"}
    plan = resolve("vanilla", None, experiment("kinds/table"), settings)
    nets = Nets(plan.sizes(), (8,), 2, (2,))
    assert nets.features == 5
    assert weights(nets.extractor()) == 2 * (8 * 8 + 8) + (8 * 5 + 5)
    assert (plan.net["width"], plan.net["depth"]) == (5, 2)
    assert plan.net.keys().isdisjoint({"norm", "extra", "more", "hidden"})


def test_a_required_argument_of_a_backbone_by_path_can_be_set(own: str) -> None:
    plan = resolve("vanilla", None, {}, {"net.backbone": f"{own}:Needs", "net.width": 3})
    assert Nets(plan.sizes(), (8,), 2, (2,)).features == 3


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("no_such_module:Net", Refusal("backbone-import-failed", reason="No module named 'no_such_module'")),
        ("own_broken:Net", Refusal("backbone-import-failed", reason="OSError")),
        (":Net", Refusal("backbone-import-failed")),
        (".relative:Net", Refusal("backbone-import-failed")),
        ("own_backbones:Nett", Refusal("misspelled-name", nearest="Net")),
        ("own_backbones:number", Refusal("unknown-name", kind="class in own_backbones", name="number")),
        ("own_backbones:made", Refusal("backbone-not-module-class", path="own_backbones:made")),
        ("os:system", Refusal("backbone-not-module-class", path="os:system")),
        ("decimal:Decimal", Refusal("backbone-not-module-class", path="decimal:Decimal")),
    ],
)
def test_a_path_to_no_class_is_an_input_error(own: str, path: str, words: str) -> None:
    with refused(words):
        own_class(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Needs", Refusal("backbone-build-failed")),
        ("Fails", Refusal("backbone-input-shape", shape="(8,)", reason="NotImplementedError")),
        ("Tuple", Refusal("backbone-input-shape", shape="(8,)")),
    ],
)
def test_a_backbone_by_path_that_cannot_be_used_is_an_input_error(own: str, name: str, words: str) -> None:
    with refused(words):
        _ = Nets(Sizes(own_class(f"{own}:{name}")), (8,), 2, (2,)).features


def test_a_path_alone_builds_nothing(own: str) -> None:
    with refused("backbone-class-not-passed"):
        Nets(Sizes(f"{own}:Net"), (8,), 2, (2,)).extractor()


@pytest.mark.parametrize("module", [nn.Linear(5, 3), nn.BatchNorm2d(8), nn.Flatten(0)])
def test_a_module_that_x_does_not_fit_is_an_input_error_of_one_line(module: nn.Module) -> None:
    with refused("backbone-input-shape") as caught:
        _ = Nets(Sizes(module), (8,), 2, (2,)).features
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("The backbone ")


def test_a_module_without_features_is_an_input_error() -> None:
    class Nothing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[:, :0]

    with refused("backbone-output-shape", shape="(2, 0)"):
        _ = Nets(Sizes(Nothing()), (8,), 2, (2,)).features


@pytest.mark.parametrize("wrong", [{"branch": -1}, {"head": (4, 0)}, {"estimator": (-2,)}])
def test_a_part_must_have_a_width(wrong: dict[str, int]) -> None:
    with refused("net-size-below-one"):
        Sizes("mlp", **wrong)


def test_all_wrong_sizes_are_named_at_once_and_no_layers_are_right() -> None:
    with refused("net-size-below-one", sizes="net.a = 0, net.c = (1, -1)"):
        at_least_one(a=0, b=1, c=(1, -1), d=())


def test_what_a_user_put_to_rest_stays_at_rest_and_the_rest_follows_the_mode() -> None:
    own = nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.BatchNorm1d(6))
    own[1].eval()
    run = train(toy_table(rows=32), "vanilla", settings=SHORT, backbone=own, device="cpu")
    resting, learning = run.method.F.module[1], run.method.F.module[3]
    assert torch.equal(resting.running_mean, torch.zeros(6))
    assert not torch.equal(learning.running_mean, torch.zeros(6))


def test_a_backbone_with_dropout_trains_to_the_same_weights_from_the_same_seed() -> None:
    def weights(seed: int) -> list[torch.Tensor]:
        torch.rand(seed + 3)  # the caller's random numbers must not matter
        torch.manual_seed(11)
        own = nn.Sequential(nn.Linear(8, 6), nn.Dropout(0.5))
        torch.rand(seed + 1)
        run = train(toy_table(rows=32), "vanilla", settings=SHORT, backbone=own, seed=3)
        return [weight.detach() for weight in run.method.parameters()]

    assert all(torch.equal(one, other) for one, other in zip(weights(0), weights(5), strict=True))


def test_a_frozen_backbone_can_be_classified_on_but_not_debiased() -> None:
    own = nn.Linear(8, 6).requires_grad_(False)
    run = train(toy_table(rows=32), "vanilla", settings=SHORT, backbone=own, device="cpu")
    assert torch.equal(run.method.F.module.weight, own.weight)
    with refused("backbone-fully-frozen"):
        train(toy_table(rows=32), "csad", settings=SHORT, backbone=own)
