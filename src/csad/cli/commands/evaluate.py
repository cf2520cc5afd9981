"""The command that measures a run again on its data."""

from __future__ import annotations

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.commands.train import show_metrics
from csad.cli.console import Console, one_sentence
from csad.cli.options import DataRoot, Device, Folder, Json, Quiet


@one_sentence
def evaluate(
    run: Folder,
    backbone: OwnBackbones = None,
    data_root: DataRoot = None,
    device: Device = "auto",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Load a run and its data again, and show its metrics on every split."""
    from csad.runs.build import name_of
    from csad.runs.evaluate import evaluate as evaluate_run
    from csad.runs.run import data_of

    [loaded] = load_runs([run], backbone, device)
    about = {key: loaded.config[key] for key in ("method", "seed")} | {"task": name_of(loaded.config["task"])}
    metrics = evaluate_run(loaded, data_of(loaded, data_root))
    show_metrics(Console(as_json, quiet), about | {"metrics": metrics, "run": str(run)}, str(run))
