"""The guide to pictures can be followed by someone who types what stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.guide_steps import brief, fewer, follow


@pytest.fixture
def here(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_guide_to_pictures_can_be_followed(here: Path) -> None:
    done = follow(
        "images.md", smaller=fewer(("count, rng = 800,", "count, rng = 100,"), ("size=24", "size=12")), shorter=brief
    )
    assert done == ["train", "train", "audit", "report", "report", "predict", "export"]
    assert len((here / "predictions.csv").read_text().splitlines()) == 11
    plain, shown = ((here / name).read_text() for name in ("leaves.html", "with-pictures.html"))
    assert "the pictures" not in plain.lower()
    assert "the pictures" in shown.lower()
    assert shown.count("<image") > plain.count("<image")
    assert (here / "leaves.safetensors").exists()
