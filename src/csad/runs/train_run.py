"""One life of a run: begun, trained or resumed, its best epoch and its threshold taken, measured and written down.

A run that is trained by itself goes through all of it here, in ``train_run``. Runs that are trained together, in a
sweep, for a table or for the tuning of λ, share the beginning (planned_run.py) and, with ``finish``, the end.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from csad import __version__
from csad.data.own.dataset import preparation_of
from csad.data.samples import Dataset
from csad.methods.method import Method
from csad.runs.best_epoch import BestEpochs, best_state, best_weights, forget_epochs, selection_of
from csad.runs.build import is_own, name_of
from csad.runs.evaluate import evaluate, row_predictions
from csad.runs.listeners import Listener
from csad.runs.planned_run import PreparedRun, RunRequest
from csad.runs.run import Run, load
from csad.runs.threshold import check_same, choose_threshold, threshold_in, training_threshold
from csad.training import checkpoint
from csad.training.batches import batches_per_epoch
from csad.training.checkpoint import Place, State
from csad.training.device import ComputeSettings, explain_out_of_memory
from csad.training.fit import fit
from csad.training.log import Log
from csad.training.memory import stays_on_host
from csad.training.validation import EpochCallback

RowPredictionTensors = Mapping[str, dict[str, Tensor]]  # by split


class FinishedTraining(NamedTuple):
    """A run whose training came to its end: its log, and its final state."""

    run: PreparedRun
    log: Log
    state: State | None = None  # None: the method holds it already, and so does the checkpoint of a run that is kept


def train_run(
    run: PreparedRun, listener: Listener, compute: ComputeSettings, *, resume: bool = False, force: bool = False
) -> Run:
    """Train a run by itself from beginning to end, or from where it was stopped; a finished one is only loaded."""
    request, resumes = run.request, run.begin(resume=resume, force=force)
    if resumes and (result := run.folder.read_result()) is not None:
        check_same(request.threshold, result, run.folder.path)
        trained = load(
            run.folder.path, backbone=request.own_backbone, view=run.dataset.view, device=str(compute.device)
        )
        forget_epochs(run.folder.path, run.method)  # a stop right after the result may have left them
        return replace(trained, config=run.config)  # the same values, but with tuples, which TOML has not
    [trained] = finish([train_alone(run, listener, compute, resume=resumes)], compute)
    trained.method.to(compute.device)
    return trained


def train_alone(
    run: PreparedRun, listener: Listener, compute: ComputeSettings, *, resume: bool = True
) -> FinishedTraining:
    """Train a run that was begun as a program of its own, whose checkpoint is in its folder."""
    if run.is_kept and (message := run.folder.rename_stale_reports()):
        listener.message(message)
    log = Log(run.folder.log if run.is_kept else None)
    keep = run.folder.checkpoint if run.is_kept else None
    selects = bool(run.method.course.select_by)
    listener.started(run.request.name)
    try:
        with tempfile.TemporaryDirectory() if selects and not run.is_kept else nullcontext() as scratch:
            # The weights of epochs are kept beside a log.
            training_log = Log(Path(scratch) / "log.jsonl") if scratch else log
            fit(
                run.method,
                run.dataset,
                listener,
                compute,
                seed=run.request.seed,
                log=training_log,
                keep=keep,
                resume=resume,
                callback=epoch_callback([run]),
            )
            log.lines = training_log.lines
            return FinishedTraining(run, log, _best_state(run, training_log) if selects else None)
    finally:
        listener.ended()


def _best_state(run: PreparedRun, log: Log) -> State | None:
    """The state of the epoch that a run takes; None if it takes the last and stays in memory."""
    if run.is_kept:
        return best_state(run.method, log, checkpoint.read_checkpoint(run.folder.checkpoint))
    weights = best_weights(run.method, log)
    return State(Place(), weights, {}) if weights else None


def epoch_callback(runs: Sequence[PreparedRun]) -> EpochCallback | None:
    """What looks at the runs of one program after epochs, if anything does."""
    request, course = runs[0].request, runs[0].method.course
    if request.callback is not None or not course.select_by:
        return request.callback
    thresholds = [
        training_threshold(
            run.dataset, run.method.course.balance, own_data=is_own(run.request.task), given=run.request.threshold
        )
        for run in runs
    ]
    return BestEpochs([run.method for run in runs], [run.dataset for run in runs], thresholds)


def finish(
    trainings: Sequence[FinishedTraining], compute: ComputeSettings, *, stacked: int = 0, keep_weights: bool = True
) -> list[Run]:
    """Measure runs and write down what their trainings came to; the result of each run is written last.

    All are measured before the first is written: a stop in between leaves the whole stack to be resumed, not a part.
    """
    measured = [evaluate_training(training, compute, stacked=stacked) for training in trainings]
    for training, (run, predictions) in zip(trainings, measured, strict=True):
        if training.run.is_kept:
            write_down(training, run, predictions, keep_weights=keep_weights)
    return [run for run, _ in measured]


def evaluate_training(
    training: FinishedTraining, compute: ComputeSettings, *, stacked: int = 0
) -> tuple[Run, RowPredictionTensors]:
    """The run with its final weights, its threshold and its result, and its row predictions if they are asked for.

    ``stacked`` says how many runs were trained with it as one program.
    """
    request = training.run.request
    with on_device(training, compute.device) as (run, dataset):
        run.result = run_result(run, dataset, request, environment(compute, run.method.course.precision))
        if stacked:
            run.result["stacked"] = stacked
        return run, row_predictions(run, dataset, request.splits if request.row_predictions else ())


def write_down(
    training: FinishedTraining, run: Run, predictions: RowPredictionTensors, *, keep_weights: bool = True
) -> None:
    """Write the row predictions, the weights if they are kept, and last the result of a run."""
    folder = training.run.folder
    _write_predictions(training.run, predictions)
    if not keep_weights:
        folder.checkpoint.unlink(missing_ok=True)
    elif training.state is not None:
        checkpoint.save(folder.checkpoint, training.state)
    folder.write_result(run.result)
    forget_epochs(folder.path, run.method)


def measure_again(run: PreparedRun, compute: ComputeSettings) -> None:
    """Add the metrics that a finished run lacks, from its kept weights; those that it has stay as they are."""
    folder, request = run.folder, run.request
    result = folder.read_result() or {}
    training = FinishedTraining(run, Log(folder.log), checkpoint.read_checkpoint(folder.checkpoint))
    with on_device(training, compute.device) as (trained, dataset):
        trained.threshold = threshold_in(result)
        metrics = evaluate(trained, dataset, probed=request.probed)
        _write_predictions(run, row_predictions(trained, dataset, request.splits if request.row_predictions else ()))
    before = result["metrics"]
    folder.write_result(result | {"metrics": {split: metrics[split] | before.get(split, {}) for split in metrics}})


def _write_predictions(run: PreparedRun, predictions: RowPredictionTensors) -> None:
    for split, tensors in predictions.items():
        checkpoint.write_tensors(run.folder.row_predictions(split), tensors)


@contextmanager
def on_device(training: FinishedTraining, device: torch.device) -> Iterator[tuple[Run, Dataset]]:
    """The run with its final weights, and its data if they fit there, on the device meanwhile."""
    prepared, dataset = training.run, training.run.dataset
    with explain_out_of_memory(device):
        method = prepared.method.to(device).eval()
        if training.state is not None:
            source = str(prepared.folder.checkpoint) if prepared.is_kept else "The checkpoint"
            method.load_weights(training.state.weights, source)
        splits = {
            name: samples if stays_on_host(samples.x, device, needed=lambda: 0) else samples.to(device)
            for name, samples in dataset.splits.items()
        }
        out = prepared.request.out
        run = Run(method, prepared.config, {}, training.log, out, dataset.view, preparation_of(dataset))
        yield run, replace(dataset, splits=splits)
        method.to("cpu")


def run_result(run: Run, dataset: Dataset, request: RunRequest, environment: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a run that came to its end, and what they depend on; the run then has its threshold."""
    threshold = choose_threshold(
        dataset,
        run.method.course.balance,
        own_data=is_own(request.task),
        given=request.threshold,
        predict_proba=replace(run, view=dataset.view).predict_proba,
    )
    if threshold is not None:
        run.threshold = threshold.value
    return {
        "task": name_of(run.config["task"]),
        "method": run.config["method"],
        "seed": run.config["seed"],
        "settings": request.plan.sections(),
        "selection": selection_of(run.method, run.log),
        "metrics": evaluate(run, dataset, probed=request.probed),
        "target_updates": target_updates(run.method, dataset.train.y),
        "seconds": run.log.seconds(),
        "warnings": run.log.warnings(),
        "environment": dict(environment),
        **({"threshold": threshold.as_dict()} if threshold else {}),
    }


def target_updates(method: Method, y: Tensor) -> int:
    """How often the schedule moves the target branch, for training targets y."""
    return batches_per_epoch(y, method.course) * sum(
        stage.epochs * line.repeat for stage in method.schedule() for line in stage.updates if "P_y" in line.moves
    )


def environment(compute: ComputeSettings, precision: str) -> dict[str, Any]:
    """What a metric depends on besides the settings: versions, device and precision."""
    on_gpu = compute.device.type == "cuda"
    return {
        "csad": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(compute.device) if on_gpu else compute.device.type,
        "threads": torch.get_num_threads(),
        "precision": precision,
        "deterministic": compute.deterministic,
        "recorded": compute.record and on_gpu,
    }
