"""Tunes debias_weight (λ) of a run on own data: tries several weights as one program and takes the best."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from csad.atomic import write_whole
from csad.errors import InputError
from csad.messages import message
from csad.nets.weights import without_files
from csad.runs.best_epoch import EPOCHS, weights_after
from csad.runs.folder import Folder
from csad.runs.listeners import Listener, WithoutAdvice
from csad.runs.planned_run import PreparedRun, fresh_method
from csad.runs.run import Run
from csad.runs.settings import Plan
from csad.runs.train_run import FinishedTraining, evaluate_training, write_down
from csad.sweeps.campaign import Campaign
from csad.sweeps.forecast import carry_out
from csad.sweeps.tuning.rule import MULTIPLIERS, Choice, weights_on, why_higher
from csad.sweeps.tuning.trials import TrialWatcher, TuningJob, log_until
from csad.sweeps.tuning.validation_rows import WEIGHT, with_epochs, with_weight
from csad.training import checkpoint
from csad.training.device import ComputeSettings
from csad.training.log import Log

FILE = "choice.json"
LOST, TERMS = "lost.json", "terms.json"  # beside the trials


def tune(
    job: TuningJob, compute: ComputeSettings, listener: Listener, *, resume: bool = False, force: bool = False
) -> Run:
    """The run with the chosen weight and epoch; if it is kept, an ordinary run folder that holds choice.json too.

    Until then the trials are kept beside it, in OUT.choosing, where a tuning that was stopped is resumed.
    """
    out = job.request.out
    resumes = _check_free(out, resume=resume, force=force) if out is not None else False
    with tempfile.TemporaryDirectory() if out is None else nullcontext(trials_folder(out)) as scratch:
        place = Path(scratch)
        campaign = Campaign(place / "shared", compute, WithoutAdvice(listener), keep_weights=True)
        trials, choice = _try_weights(job, campaign, place, resumes=resumes, force=force)
        best = next(run for run in trials if run.request.plan.settings[WEIGHT] == choice.debias_weight)
        run = _finish(job, best, choice, compute, force=force or resumes)
        if out is not None:
            _clear(place)
    listener.started(job.request.name)
    for advice in run.log.warnings():
        listener.warn(advice)
    listener.ended()
    return run


def trials_folder(out: Path) -> Path:
    """The folder of the trials for a run, until one is taken."""
    return out.with_name(f"{out.name}.choosing")


def plan_chosen_before(job: TuningJob, *, resume: bool) -> Plan | None:
    """The plan with what was chosen for a run that is to be resumed; None if it must still be tuned."""
    out = job.request.out
    if not resume or out is None or not Folder(out).config.exists() or trials_folder(out).exists():
        return None
    if not (out / FILE).exists():  # the weight was not chosen, but given
        return job.request.plan
    try:
        choice = json.loads((out / FILE).read_text(encoding="utf-8"))
        weight, cost, epoch, epochs = (float(choice[name]) for name in (WEIGHT, "cost", "epoch", "epochs"))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError("tuning-file-unreadable", file=out / FILE, reason=error) from error
    if cost != job.cost:
        raise InputError("tuning-cost-changed", folder=out, found=cost, cost=job.cost)
    plan = with_weight(job.request.plan, weight)
    return with_epochs(plan, int(epoch)) if epochs == job.epochs else plan


def _check_free(out: Path, *, resume: bool, force: bool) -> bool:
    """Whether a tuning that was stopped is resumed; raise InputError if none may begin."""
    if trials_folder(out).exists() and not force:
        if resume:
            return True
        raise InputError("tuning-interrupted", folder=trials_folder(out), setting=WEIGHT)
    Folder(out).check({}, resume=resume, force=force)
    return False


def _try_weights(
    job: TuningJob, campaign: Campaign, place: Path, *, resumes: bool, force: bool
) -> tuple[list[PreparedRun], Choice]:
    """Try the weights, those of each step of MULTIPLIERS as one program; return the runs and the choice among them."""
    device, advice = campaign.compute.device, "Give --resume to continue." if job.request.out is not None else ""
    lost = LostRuns(place, fresh=not resumes)
    [plain] = campaign.begin([job.vanilla(place)], resume=resumes, force=force)
    _check_terms(job, place, resumes=resumes)
    vanilla = cache(lambda: job.trial_of(plain, device))  # it is trained first, and then needed often
    watcher = TrialWatcher(job.score_and_leakage, job.cost, vanilla)
    runs: list[PreparedRun] = []
    higher = ""
    for multipliers in MULTIPLIERS:
        weights = weights_on(job.request.plan.settings[WEIGHT], multipliers)
        names = ", ".join(f"{weight:g}" for weight in weights)
        first = message("tuning-started", setting=WEIGHT, weights=names)
        campaign.listener.message(message("larger-weights-tried", problem=higher, weights=names) if runs else first)
        more = campaign.begin(job.weighted(weights, place, watcher), resume=resumes, force=force)
        for run, weight in zip(more, weights, strict=True):
            watcher.add(run.folder, weight, over=run.folder.result.exists() or run.request.name in lost)
        to_train = [run for run in (*(() if runs else (plain,)), *more) if run.request.name not in lost]
        lost.add(carry_out(campaign, job.request.method, to_train, advice))
        for run, weight in zip(more, weights, strict=True):
            watcher.add(run.folder, weight, over=True)  # one that was stopped at its very end was not looked at again
        runs += more
        choice = job.decide(vanilla(), runs, watcher, device)
        if not (higher := why_higher(choice)):
            return runs, choice
    campaign.listener.message(message("no-larger-weights-tried", problem=higher))
    return runs, choice


def _finish(job: TuningJob, best: PreparedRun, choice: Choice, compute: ComputeSettings, *, force: bool) -> Run:
    """An ordinary finished run of the best trial, with the weights and the log of the chosen epoch.

    All is copied, so that a stop in between loses nothing.
    """
    request = replace(job.request, plan=with_epochs(best.request.plan, choice.epoch))
    with without_files():  # of pretrained weights: those of the trial have them all
        method = fresh_method(request, job.dataset)
    prepared = PreparedRun(request, job.dataset, method, best.fingerprint)
    log = log_until(Log(best.folder.log), choice.epoch, choice.epochs)
    training = FinishedTraining(prepared, log, checkpoint.read_checkpoint(_chosen_weights(best, choice)))
    stacked = (best.folder.read_result() or {}).get("stacked", 1)
    run, predictions = evaluate_training(training, compute, stacked=stacked)
    if choice.epochs > 1:
        run.result["selection"] = f"epoch {choice.epoch} of {choice.epochs}, chosen on the validation split"
    run.result["choice"] = choice.as_dict()
    run.method.to(compute.device)
    if not prepared.is_kept:
        return run
    folder = prepared.folder
    prepared.begin(resume=False, force=force)
    _copy_other_files(best.folder, folder)
    log.copy_to(folder.log)
    write_whole(folder.path / FILE, json.dumps(run.result["choice"], indent=2) + "\n")
    write_down(training, run, predictions)
    return replace(run, result=folder.read_result() or {}, log=Log(folder.log))


def _chosen_weights(run: PreparedRun, choice: Choice) -> Path:
    """The file that holds the weights of the chosen epoch."""
    epoch_file = weights_after(run.folder.path, choice.epoch)
    file = epoch_file if epoch_file.exists() or choice.stopped else run.folder.checkpoint
    if not file.exists():
        raise InputError("tuned-weights-missing", file=file, setting=WEIGHT)
    return file


def _copy_other_files(trial: Folder, out: Folder) -> None:
    """Copy what a trial's folder holds besides the files that every run writes, such as those of TensorBoard."""
    written = (out.config.name, out.preparation.name, out.log.name, out.checkpoint.parent.name, EPOCHS, out.result.name)
    for entry in trial.path.iterdir():
        if entry.name not in written and not entry.is_symlink():
            copy = shutil.copytree if entry.is_dir() else shutil.copy
            copy(entry, out.path / entry.name)


def _check_terms(job: TuningJob, place: Path, *, resumes: bool) -> None:
    """Raise InputError if a tuning is resumed with another cost or threshold than the trials were scored by."""
    terms = {"cost": job.cost, "threshold": job.request.threshold}
    if resumes and _read(place / TERMS, terms) != terms:
        raise InputError("tuning-terms-changed", folder=place)
    write_whole(place / TERMS, json.dumps(terms) + "\n")


def _read(file: Path, default: Any) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else default
    except ValueError as error:
        raise InputError("tuning-file-unreadable", file=file, reason=error) from error


class LostRuns:
    """The names of trials that have diverged, kept beside them: a tuning that is resumed does not try them again."""

    def __init__(self, place: Path, *, fresh: bool) -> None:
        self._file = place / LOST
        if fresh:
            self._file.unlink(missing_ok=True)
        self._names: list[str] = _read(self._file, [])

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, names: Sequence[str]) -> None:
        """Add names and write the file."""
        if names:
            self._names += names
            write_whole(self._file, json.dumps(self._names) + "\n")


def _clear(place: Path) -> None:
    """Remove the trials, once one of them is kept elsewhere; files that are not csad's stay."""
    for entry in place.iterdir():
        if entry.name in (LOST, TERMS):
            entry.unlink()
        elif entry.name == "shared" or Folder(entry).config.exists():
            shutil.rmtree(entry)
    if not any(place.iterdir()):
        place.rmdir()
