"""bf16: F alone computes in it, on pictures with channels last; it learns what float32 learns."""

import pytest
import torch

from csad.errors import Interrupted
from csad.methods.method import Course
from csad.runs.build import build
from csad.runs.run import Run
from csad.runs.settings import experiment, resolve
from csad.sweeps.train import train
from csad.training.batches import OwnBatches, StackedBatches
from csad.training.checkpoint import read_checkpoint
from csad.training.device import ComputeSettings, computing_in, lay_out
from csad.training.fit import fit
from csad.training.log import Log
from csad.training.stacking import Alone
from csad.training.steps import encode
from tests.support.listeners import StopAt
from tests.support.messages import refused
from tests.support.photographs import photos
from tests.support.stacking import apart, losses, planned, stacked

CPU = torch.device("cpu")
HALF = {"train__precision": "bf16"}
ROUNDING = 2**-8  # of a bf16 number


def resnet(dataset, method="csad", precision="bf16", **given):
    settings = {"batch_size": 8, "target_epochs": 1, "bias_epochs": 1, "estimator_epochs": 1, "epochs": 1, **given}
    plan = resolve(method, None, experiment("kinds/photo"), {**settings, "precision": precision})
    return build(dataset.task, method, plan, 0)


def test_only_pictures_in_bf16_have_their_channels_last_and_their_numbers_stay():
    x = torch.randn(4, 3, 8, 8)
    last = lay_out(x, "bf16")
    assert torch.equal(last, x)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert lay_out(x, "float32") is x
    assert lay_out(x, "tf32") is x
    series = torch.randn(4, 6, 256)
    assert lay_out(series, "bf16") is series


def test_training_lays_pictures_out_as_the_precision_asks():
    dataset = photos()
    for precision in ("float32", "bf16"):
        batches = OwnBatches(dataset, Course(precision=precision), 0, CPU)
        x = batches.take(torch.arange(5)).x
        assert x.is_contiguous(memory_format=torch.channels_last) == (precision == "bf16")
        assert torch.equal(x, dataset.view(dataset.train.x[:5]))


def test_bf16_leaves_products_outside_of_F_in_float32():
    with computing_in("bf16"):
        assert not torch.backends.cuda.matmul.allow_tf32
        assert not torch.is_autocast_enabled("cpu")


@pytest.mark.parametrize("method", ["csad", "lff"])
def test_F_computes_in_bf16_and_all_else_in_float32(heard, method):
    dataset = photos()
    model = resnet(dataset, method)
    inside, after = set(), set()

    def in_F(module, x, out):
        inside.add((out.dtype, torch.is_autocast_enabled("cpu")))

    def in_D(module, x, out):
        after.add((x[0].dtype, out.dtype, torch.is_autocast_enabled("cpu")))

    model.F.conv1.register_forward_hook(in_F)
    model.D_y.register_forward_hook(in_D)
    fit(model, dataset, heard, ComputeSettings(CPU), seed=0)
    assert inside == {(torch.bfloat16, True)}
    assert after == {(torch.float32, torch.float32, False)}
    assert {value.dtype for value in model.state_dict().values() if value.is_floating_point()} == {torch.float32}
    h = model.features(dataset.view(dataset.train.x[:4]))
    assert h["h"].dtype == h["h_y"].dtype == torch.float32


def test_h_is_that_of_float32_up_to_the_rounding_of_bf16():
    dataset = photos()
    methods = [resnet(dataset, precision=precision).eval() for precision in ("float32", "bf16")]
    rows = torch.arange(8)
    exact, rounded = (
        encode(Alone(method), OwnBatches(dataset, method.course, 0, CPU), rows, gradient=False).h for method in methods
    )
    off = (exact - rounded).norm() / exact.norm()
    assert 0 < off < 8 * ROUNDING  # twenty layers, each rounded
    x = lay_out(dataset.view(dataset.train.x[rows]), "bf16")
    assert torch.equal(methods[1].features(x)["h"], rounded)


def test_in_bf16_csad_learns_what_it_learns_in_float32():
    found = {}
    for precision in ("float32", "bf16"):
        given = {"train.precision": precision, "data.rows": 256, "train.epochs": 1, "inner_steps": 3}
        run = train("toy-image", "csad", settings=given, device="cpu")
        curve = [line["losses"] for line in run.log.lines if line["stage"] == "debias"]
        found[precision] = run.result["metrics"]["test"], curve
    (exact, curve), (half, half_curve) = found["float32"], found["bf16"]
    assert exact["accuracy"] > 0.7
    assert half["accuracy"] == pytest.approx(exact["accuracy"], abs=0.03)
    assert curve != half_curve
    for name in ("target", "bias", "estimator", "debias"):
        assert half_curve[0][name] == pytest.approx(curve[0][name], rel=0.1, abs=0.05), name


def test_the_same_seed_gives_the_same_weights_and_a_stop_changes_nothing(heard, tmp_path):
    dataset = photos()
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    fit(resnet(dataset), dataset, heard, ComputeSettings(CPU), seed=0, keep=whole)
    log = Log(tmp_path / "log.jsonl")
    with pytest.raises(Interrupted):
        fit(resnet(dataset), dataset, StopAt(1), ComputeSettings(CPU), seed=0, keep=stopped, log=log)
    fit(resnet(dataset), dataset, heard, ComputeSettings(CPU), seed=0, keep=stopped, log=Log(log.path), resume=True)
    one, other = read_checkpoint(whole).weights, read_checkpoint(stopped).weights
    assert all(torch.equal(value, other[name]) for name, value in one.items())


@pytest.mark.parametrize(
    ("task", "method"), [("toy-table", "csad"), ("toy-table", "kim"), ("toy-table", "lff"), ("toy-image", "vanilla")]
)
def test_stacked_runs_in_bf16_learn_what_each_learns_alone(heard, task, method):
    # Up to rounding: a product of many runs at once adds up in another order, and then is rounded to eight bits; of
    # pictures, a CPU stacks convolutions in float32.
    seeds = (0, 1)
    training = stacked([planned(task, method, seed, **HALF) for seed in seeds], heard, seeds)
    for k, seed in enumerate(seeds):
        dataset, model = planned(task, method, seed, **HALF)
        own, alone = losses(training.logs[k]), losses(fit(model, dataset, heard, ComputeSettings(CPU), seed=seed))
        assert own
        for place, values in own.items():
            assert values == pytest.approx(alone[place], rel=0.05, abs=0.01), place
    assert apart(training)


def test_a_run_in_bf16_predicts_as_it_was_trained():
    dataset = photos()
    method = resnet(dataset).eval()
    run = Run(method, {"about": {}}, {}, Log(), view=dataset.view)
    with torch.no_grad():
        expected = method.predict(dataset.view(dataset.train.x))
        outside = method.P_y(method.D_y(method.F(dataset.view(dataset.train.x))))
    assert (run.predict(dataset.train.x) == expected.argmax(1).numpy()).all()
    assert not torch.equal(expected, outside)


def test_an_unknown_precision_is_an_input_error():
    with refused("training-settings-invalid"):
        Course(precision="fp8")


def test_one_run_and_a_stack_balance_over_cells_alike():
    dataset, method = planned("toy-table", "vanilla", train__balance="cells")
    own = OwnBatches(dataset, method.course, 3, CPU)
    both = StackedBatches([dataset, dataset], method.course, (3, 4), CPU)
    alone = [rows.tolist() for rows in own.order(0, 1)]
    assert [rows[0].tolist() for rows in both.order(0, 1)] == alone
    assert [rows[1].tolist() for rows in both.order(0, 1)] != alone
    y, b = dataset.train.y, dataset.train.b
    cells = torch.unique(torch.cat([y[:, None], b], 1), dim=0)
    for rows in alone:
        shares = [(torch.cat([y[rows, None], b[rows]], 1) == cell).all(1).sum().item() for cell in cells]
        assert max(shares) - min(shares) <= 1
