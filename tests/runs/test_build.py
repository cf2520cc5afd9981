"""From names and settings to a method: what is told before data are read, and what runs may not share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import csad
from csad.data.augment import Pictures
from csad.methods.vanilla import Vanilla
from csad.runs.build import build, plan_run, read_dataset
from csad.runs.planned_run import run_config
from csad.sweeps.shared_pretraining import common_stages, pretraining_key
from tests.support.messages import Refusal, refused
from tests.support.own_data import DATASET

SHORT = {"train.target_epochs": 1, "train.epochs": 1, "train.batch_size": 32}


def test_wrong_settings_are_told_before_data_are_read() -> None:
    def reader(*asked: Any) -> Any:
        raise AssertionError("the data were read")

    for name, value, expected in (
        ("debais_weight", 1, Refusal("misspelled-name", kind="setting", name="debais_weight", nearest="debias_weight")),
        ("net.filtres", 3, Refusal("misspelled-name", kind="setting of net", name="filtres", nearest="filters")),
        ("train.epochs", "many", Refusal("setting-wrong-type", setting="train.epochs", value="many")),
    ):
        with refused(expected):
            plan_run("toy-image", "csad", {name: value}, "", reader)


def test_large_images_have_a_net_for_photographs() -> None:
    for size, backbone in ((16, "small-conv"), (64, "resnet18")):
        x = np.zeros((40, 3, size, size), np.uint8)
        data = csad.from_arrays(x, np.arange(40) % 2, np.arange(40) // 2 % 2)
        assert plan_run(data, "vanilla", {}, "", read_dataset)[1].net["backbone"] == backbone


class Hidden(Vanilla):
    def mask_input(self, x: torch.Tensor) -> torch.Tensor:
        return 0 * x


def test_a_method_that_hides_a_part_of_x_shares_no_pretraining() -> None:
    _, plan = plan_run(DATASET, "vanilla", {}, "", read_dataset)
    plain = build(DATASET.task, "vanilla", plan, 0)
    hidden = Hidden(DATASET.task, _nets(plain, plan), plan.course())
    assert (common_stages(plain), common_stages(hidden)) == (1, 0)


def _nets(method: Any, plan: Any) -> Any:
    from csad.nets.parts import Nets

    return Nets(plan.sizes(), method.task.shape, 3, (2,))


def test_other_weights_in_a_file_of_the_same_name_are_other_runs(tmp_path: Path) -> None:
    data = csad.from_arrays(np.zeros((40, 3, 16, 16), np.uint8), np.arange(40) % 2, np.arange(40) // 2 % 2)
    file = tmp_path / "weights.pth"
    words = []
    for seed in (0, 1, 1):
        torch.manual_seed(seed)
        net = csad.registry.BACKBONES["resnet18"]((3, 16, 16))
        torch.save({name: value for name, value in net.state_dict().items() if "last" not in name}, file)
        given = {"backbone": "resnet18", "weights": str(file)}
        _, plan = plan_run(data, "vanilla", given, "", read_dataset)
        config = run_config(data, "vanilla", 0, plan, data, data.fingerprint())
        words.append((pretraining_key(config, build(data.task, "vanilla", plan, 0), 1), config["about"]["weights"]))
    assert words[0] != words[1] == words[2]


def test_a_method_that_only_trains_the_head_takes_a_frozen_backbone() -> None:
    frozen = nn.Linear(4, 6).requires_grad_(False)
    run = csad.train(DATASET, "reweigh", backbone=frozen, settings=SHORT)
    assert torch.equal(run.method.F.module.weight, frozen.weight)
    with refused("backbone-fully-frozen"):
        csad.train(DATASET, "csad", backbone=frozen, settings=SHORT)


class Nameless:
    numbers = 1

    def __call__(self, x: Any, noise: Any) -> Any:
        return x


def test_a_variation_must_tell_what_it_does() -> None:
    assert replace(DATASET, vary=Pictures()).fingerprint() != replace(DATASET, vary=Pictures(shift=1)).fingerprint()
    with refused("vary-without-repr"):
        replace(DATASET, vary=Nameless()).fingerprint()
