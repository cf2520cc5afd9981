"""Findings made by hand, as two runs on a table of people would have them: every figure can be looked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from csad.auditing.audit import AuditRecord
from csad.report.findings import Attention, ColorMaps, Findings, Importance, PictureGrid, RunSummary, ShownData

LAYERS = ("x", "h", "prediction")
NAMES = ("vanilla seed 0", "csad seed 0")


def reading(layer: str, probe: str, score: float) -> dict[str, Any]:
    return {
        "probe": probe, "layer": layer, "bias": "sex", "score": score, "chance": 0.5, "low": score - 0.03,
        "high": score + 0.03, "p": 0.001, "p_corrected": 0.012, "rows": 400,
    }  # fmt: skip


def audit_of(state: str, scores: tuple[float, float, float], accuracy: float, worst: float) -> dict[str, Any]:
    """An audit as audit.json holds it; the linear reader does best, the other .02 less well."""
    verdicts = [
        {
            "layer": layer, "bias": "sex", "state": state if layer == "prediction" else "leaks",
            "words": f"What is said of sex from {layer}.", "needed_rows": None, "planted": 0.6, "notes": [],
            "readings": [reading(layer, "linear", score), reading(layer, "neighbors", score - 0.02)],
        }
        for layer, score in zip(LAYERS, scores, strict=True)
    ]  # fmt: skip
    cells = [
        {"bias": "sex", "group": group, "target": target, "rows": rows,
         "accuracy": {"value": value, "low": value - 0.05, "high": min(1.0, value + 0.05)}}
        for group, target, rows, value in (
            ("f", "low", 150, 0.9), ("f", "high", 12, worst), ("m", "low", 120, 0.85), ("m", "high", 118, 0.8)
        )
    ]  # fmt: skip
    figures = {"accuracy": accuracy, "worst_group": worst, "equalized_odds_sex": 0.9 - worst, "recall_0": 0.88}
    return {
        "task": "people.csv", "method": "csad", "seed": 0, "run": "runs/csad", "split": "test", "weights": "w",
        "split_rows": "r", "against": None, "against_weights": None, "state": state,
        "words": "All of it.", "needed_rows": None, "deployed": "prediction", "rows": 400, "probed": 400,
        "among": "target", "targets": ["low", "high"],
        "leakage": {"verdicts": verdicts, "margin": 0.05, "level": 0.95, "conditional": True, "seed": 0},
        "figures": {name: {"value": v, "low": v - 0.04, "high": v + 0.04} for name, v in figures.items()},
        "groups": [], "cells": cells, "notes": [], "comparison": None,
        "alignment": [
            {"bias": "sex", "aligned": {"value": 0.9, "low": None, "high": None},
             "conflicting": {"value": worst, "low": None, "high": None},
             "difference": {"value": 0.9 - worst, "low": None, "high": None},
             "aligned_rows": 300, "conflicting_rows": 100}
        ],
    }  # fmt: skip


def summary(name: str, audit: dict[str, Any], warnings: tuple[str, ...] = ()) -> RunSummary:
    curve = [(0.0, 1.2), (50.0, 0.7), (100.0, 0.4)]
    return RunSummary(
        name,
        name.split()[0],
        AuditRecord.from_dict(audit),
        {"target": curve, "bias": curve},
        {"accuracy": [(0.0, 0.6), (100.0, 0.8)]},
        [(0.0, "target"), (50.0, "debias")],
        warnings,
        {"train": {"epochs": "3"}},
        {"method": name.split()[0]},
    )


VANILLA = summary("vanilla seed 0", audit_of("leaks", (0.9, 0.88, 0.81), 0.871, 0.412))
COMPARISON = {
    "against": "vanilla seed 0", "words": "Told less well than before.", "readings": [],
    "leakage": audit_of("leaks", (0.9, 0.88, 0.81), 0.871, 0.412)["leakage"],
    "figures": {"accuracy": {"value": 0.862, "other": 0.871, "difference": -0.009, "low": -0.02, "high": 0.002}},
}  # fmt: skip
CSAD_AUDIT = audit_of("no evidence of leakage", (0.9, 0.6, 0.51), 0.862, 0.733) | {"comparison": COMPARISON}
CSAD = summary("csad seed 0", CSAD_AUDIT)
FINDINGS = Findings(
    "csad seed 0 on people.csv",
    [CSAD, VANILLA],
    VANILLA,
    ["The audit was made for this page."],
    {"rows": "train 1,000, test 400", "target": "2 classes: low, high"},
    [["age", "numbers", "input"]],
    [
        Importance("age", dict(zip(NAMES, ((0.01, 0.002), (0.06, 0.003)), strict=True)), dict.fromkeys(NAMES, 0.2)),
        Importance("title", dict(zip(NAMES, ((0.21, 0.01), (-0.001, 0.001)), strict=True)), dict.fromkeys(NAMES, 0.1)),
    ],
    5,
)  # fmt: skip
PICTURES = Attention({"vanilla seed 0": np.full((8, 8), 1 / 64), "csad seed 0": np.eye(8) / 8}, False, 64)
SERIES = Attention({"csad seed 0": np.full((2, 16), 1 / 32)}, True, 64)
ROWS = ShownData(["row of test", "age"], [["7", "4711"]], {"the pictures": np.full((2, 8, 8, 3), 200, np.uint8)})
GRIDS = replace(ROWS, grids=[PictureGrid("train", np.full((8, 8, 8, 3), 90, np.uint8), 4, ["low", "high"])])
COLORS = ColorMaps(
    {name: [[1.0, 0.25], [None, 0.75]] for name in NAMES}, ["low", "high"], [(200, 10, 10), (10, 10, 200)], True
)
