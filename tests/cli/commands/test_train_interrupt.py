"""A run is never lost: Ctrl-C, kill and --resume through the real command."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.support.messages import says

LENGTHS = {"target_epochs": 3, "bias_epochs": 3, "estimator_epochs": 3, "epochs": 8, "batch_size": 32}
SETTINGS = [word for name, value in LENGTHS.items() for word in ("--set", f"train.{name}={value}")]
TRAIN = [sys.executable, "-m", "csad", "train", "toy-table", "--method", "csad", "--seed", "1", "--json", *SETTINGS]


def run(out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*TRAIN, "--out", str(out), *more], capture_output=True, text=True)


@contextmanager
def started(out: Path) -> Iterator[subprocess.Popen[str]]:
    """The same command, going on beside the test, and never left behind by it."""
    with subprocess.Popen(
        [*TRAIN, "--out", str(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()


def weights(out: Path) -> dict[str, torch.Tensor]:
    return load_file(out / "checkpoint" / "state.safetensors")


def steps(out: Path) -> list[int]:
    log = out / "log.jsonl"
    return (
        [json.loads(line)["step"] for line in log.read_text().splitlines() if line.endswith("}")]
        if log.exists()
        else []
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert run(out).returncode == 0
    return out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_run_that_was_stopped_in_the_middle_ends_with_the_same_weights(
    whole: Path, tmp_path: Path, number: int
) -> None:
    out = tmp_path / "run"
    last = max(steps(whole))
    with started(out) as running:
        while max(steps(out), default=0) < last * 0.85:
            assert running.poll() is None, "it came to its end before it could be stopped"
            time.sleep(0.02)
        running.send_signal(number)
        stdout, stderr = running.communicate()
    assert not (out / "result.json").exists()
    if number != signal.SIGKILL:
        assert running.returncode == 130
        assert "--resume" in stderr
        assert "Traceback" not in stderr
        assert json.loads(stdout)["exit"] == 130

    resumed = run(out, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    one, other = weights(whole), weights(out)
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert steps(out) == steps(whole)
    result = json.loads(resumed.stdout)
    assert result["metrics"] == json.loads((whole / "result.json").read_text())["metrics"]


def test_a_stopped_run_is_not_begun_anew_unasked(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    refused = run(whole)
    assert refused.returncode == 2
    assert says(refused.stderr, "run-exists-already", folder=whole)
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before
