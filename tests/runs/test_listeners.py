"""One listener hears of data, trainings, advice and log lines, wherever it is passed to."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import csad
from csad.methods.vanilla import Vanilla
from csad.runs.listeners import ForwardingListener, Listener, PlainListener, WithoutAdvice
from tests.support.messages import noticed
from tests.support.own_data import PLAIN
from tests.support.quick import QUICK


class Everything(Listener):
    """Remembers each call by its name and its first argument."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def started(self, title: str) -> None:
        self.calls.append(("started", title))

    def progress(self, stage: Any, *about: Any) -> None:
        self.calls.append(("progress", stage.name))

    def log_line(self, log: Any, line: Any) -> None:
        assert log.lines[-1] == line
        self.calls.append(("log_line", line["stage"]))

    def ended(self) -> None:
        self.calls.append(("ended", None))

    def message(self, text: str) -> None:
        self.calls.append(("message", text))

    def table_read(self, table: Any) -> None:
        self.calls.append(("table_read", table.task.bias_names))

    def warn(self, text: str) -> None:
        self.calls.append(("warn", text))

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.calls))


@pytest.fixture
def advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training gives advice."""
    monkeypatch.setattr(Vanilla, "diagnose", lambda self, stage, curves: ["Sleep on it."])


def people(folder: Path) -> Path:
    path = folder / "people.csv"
    rows = [f"{row % 7},{'ab'[row % 2]},{'xy'[row // 2 % 2]}" for row in range(80)]
    path.write_text("\n".join(["size,kind,site", *rows]) + "\n")
    return path


@pytest.mark.usefixtures("advised")
def test_a_training_tells_its_listener_of_everything_in_turn(tmp_path: Path) -> None:
    heard, settings = Everything(), {"data.target": "kind", "data.bias": ("site",), "epochs": 1, "target_epochs": 1}
    csad.train(people(tmp_path), "vanilla", settings=settings, listener=heard, device="cpu")
    assert heard.names() == ["table_read", "started", "log_line", "progress", "warn", "ended"]
    assert ("table_read", ("site",)) in heard.calls
    assert ("started", "people vanilla seed 0") in heard.calls
    assert heard.calls[-1] == ("ended", None)
    lines = [stage for name, stage in heard.calls if name == "log_line"]
    assert len(lines) > len([name for name, _ in heard.calls if name == "progress"])  # advice is a line, too


@pytest.mark.usefixtures("advised")
def test_a_sweep_tells_the_same_listener_what_it_will_do(tmp_path: Path) -> None:
    heard = Everything()
    settings = {name: value for name, value in QUICK.items() if name != "inner_steps"}
    csad.sweep("toy-table", "vanilla", seeds=(0, 1), settings=settings, out=tmp_path, listener=heard, device="cpu")
    assert heard.names() == ["message", "started", "log_line", "progress", "warn", "ended"]
    assert ("message", "toy-table vanilla: 2 runs.") in heard.calls


@pytest.mark.usefixtures("advised")
def test_the_classifier_tells_the_same_listener() -> None:
    heard, rng = Everything(), np.random.default_rng(0)
    y, bias = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    x = np.column_stack([rng.normal(size=60), bias])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        csad.DebiasedClassifier("vanilla", epochs=1, device="cpu").fit(x, y, bias=bias, listener=heard)
    assert heard.names() == ["started", "warn", "log_line", "progress", "ended"]
    assert noticed([heard.calls[1][1]], "input-copies-bias", column=1)
    assert ("warn", "Sleep on it.") in heard.calls


@pytest.mark.usefixtures("advised")
def test_who_overrides_nothing_hears_advice_as_a_python_warning() -> None:
    from tests.support.own_data import DATASET

    with pytest.warns(csad.TrainingWarning, match="Sleep on it"):
        csad.train(DATASET, "vanilla", settings=PLAIN, listener=Listener())


def test_a_forwarding_listener_passes_each_method_on() -> None:
    public = {name for name in vars(Listener) if not name.startswith("_")}
    assert public == {name for name in vars(ForwardingListener) if not name.startswith("_")}
    heard = Everything()
    WithoutAdvice(heard).warn("Sleep on it.")
    WithoutAdvice(heard).message("Go on.")
    assert heard.calls == [("message", "Go on.")]


def test_plain_lines_carry_the_title(capsys: pytest.CaptureFixture[str]) -> None:
    listener = PlainListener()
    listener.started("vanilla")
    listener.warn("Sleep on it.")
    assert capsys.readouterr().err == "vanilla: warning: Sleep on it.\n"
