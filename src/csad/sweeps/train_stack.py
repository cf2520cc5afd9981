"""Trains runs that differ only in numbers as one program, what they share once; a stopped one can be resumed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from csad.errors import Diverged
from csad.messages import message
from csad.runs.best_epoch import best_state
from csad.runs.listeners import Listener
from csad.runs.parse import former_names
from csad.runs.planned_run import PreparedRun
from csad.runs.train_run import FinishedTraining, epoch_callback, finish, train_alone
from csad.sweeps.shared_pretraining import Pretrained, common_stages, moved_parts, pretraining_key
from csad.training import checkpoint
from csad.training.checkpoint import Place, State
from csad.training.device import ComputeSettings
from csad.training.fit import Training, fit_many
from csad.training.log import Log
from csad.training.stacking import why_not_stacked


class StackTrainer:
    """Trains stacks, one after the other; ``scratch`` holds shared pretraining and the states of stopped stacks."""

    def __init__(self, scratch: Path, compute: ComputeSettings, listener: Listener, *, keep_weights: bool) -> None:
        self.compute, self.listener, self.keep_weights = compute, listener, keep_weights
        self.stacks = scratch / "stacks"
        self.pretrained = Pretrained(scratch / "pretrained")

    def train(self, runs: Sequence[PreparedRun]) -> list[str]:
        """Train one stack to its end and write the results; return the names of runs that diverged."""
        if reason := why_not_stacked(runs[0].method):
            return self._train_alone(runs[0], reason)
        starts = self._pretrain(runs)
        lost = [run.request.name for run, start in zip(runs, starts, strict=True) if start is None]
        started = [(run, *start) for run, start in zip(runs, starts, strict=True) if start is not None]
        if not started:
            return lost
        stack = [run for run, _, _ in started]
        keep = self._keep(stack, "whole")
        if not all(run.folder.log.exists() for run in stack):
            keep.unlink(missing_ok=True)  # one of them is begun anew
        if not keep.exists():
            for run, _, log in started:
                log.copy_to(run.folder.log)
        states = [state for _, state, _ in started if state is not None]
        training = self._fit(stack, [Log(run.folder.log) for run in stack], keep=keep, starts=states)
        if training is None:
            return [run.request.name for run in runs]
        finished = [
            FinishedTraining(run, log, best_state(run.method, log, training.state_of(number)))
            for number, (run, log) in enumerate(zip(stack, training.logs, strict=True))
            if number not in training.lost
        ]
        self._finish(finished, len(stack))
        keep.unlink(missing_ok=True)
        return lost + [stack[number].request.name for number in training.lost]

    def place_of(self, runs: Sequence[PreparedRun], stage: int | None = None) -> Place:
        """How far these runs have come as one program: in that common stage, or in all that follows these."""
        if why_not_stacked(runs[0].method):
            return checkpoint.place_in(runs[0].folder.checkpoint)
        return checkpoint.place_in(self._keep(runs, "whole" if stage is None else f"stage {stage}"))

    def clear(self) -> None:
        """Remove the states of stopped stacks, once all runs are finished."""
        shutil.rmtree(self.stacks, ignore_errors=True)

    def _pretrain(self, runs: Sequence[PreparedRun]) -> list[tuple[State | None, Log] | None]:
        """For each run the state after its common stages, and its log; None for a run that diverges in them."""
        stages = common_stages(runs[0].method)
        if stages == 0:
            return [(None, Log()) for _ in runs]
        for count in range(1, stages + 1):
            missing: dict[str, PreparedRun] = {}
            for run in runs:
                own_key, before = (pretraining_key(run.config, run.method, number) for number in (count, count - 1))
                if not self.pretrained.holds(own_key) and (count == 1 or self.pretrained.holds(before)):
                    missing.setdefault(own_key, run)
            if missing:
                self._pretrain_stage(missing, count)
        keys = [pretraining_key(run.config, run.method, stages) for run in runs]
        return [self.pretrained.load(own_key) if self.pretrained.holds(own_key) else None for own_key in keys]

    def _pretrain_stage(self, missing: Mapping[str, PreparedRun], count: int) -> None:
        runs = list(missing.values())
        before = (
            [self.pretrained.load(pretraining_key(run.config, run.method, count - 1)) for run in runs]
            if count > 1
            else []
        )
        keep = self._keep(runs, f"stage {count}")
        for own_key, (_, log) in zip(missing, before, strict=False):
            if not keep.exists():
                log.copy_to(self.pretrained.log(own_key))
        logs = [Log(self.pretrained.log(own_key)) for own_key in missing]
        training = self._fit(runs, logs, keep=keep, starts=[state for state, _ in before], until=count)
        if training is None:
            return
        parts = moved_parts(runs[0].method, count)
        for number, own_key in enumerate(missing):
            if number not in training.lost:
                self.pretrained.save(own_key, training.state_of(number), parts)
        keep.unlink(missing_ok=True)

    def _keep(self, runs: Sequence[PreparedRun], what: str) -> Path:
        """The file that keeps a stopped stack until it is resumed: the same runs, with the same settings."""
        identity = json.dumps([what, *(former_names(run.config) for run in runs)], sort_keys=True)
        return self.stacks / f"{hashlib.sha256(identity.encode()).hexdigest()[:20]}.safetensors"

    def _fit(self, runs: Sequence[PreparedRun], logs: Sequence[Log], **options: Any) -> Training | None:
        """The training of a stack; None if all its runs have diverged."""
        many = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        self.listener.started(f"{runs[0].request.name}{many}")
        try:
            return fit_many(
                [run.method for run in runs],
                [run.dataset for run in runs],
                self.listener,
                self.compute,
                seeds=[run.request.seed for run in runs],
                names=[run.request.name for run in runs],
                logs=logs,
                callback=epoch_callback(runs),
                **options,
            )
        except Diverged as error:
            self.listener.warn(str(error))
            return None
        finally:
            self.listener.ended()

    def _train_alone(self, run: PreparedRun, reason: str) -> list[str]:
        self.listener.started(run.request.name)
        self.listener.warn(message("run-trained-alone", reason=reason))
        try:
            training = train_alone(run, self.listener, self.compute)
        except Diverged as error:
            self.listener.warn(str(error))
            return [run.request.name]
        self._finish([training], 1)
        return []

    def _finish(self, trainings: Sequence[FinishedTraining], stacked: int) -> None:
        if probed := sum(bool(training.run.request.probed) for training in trainings):
            self.listener.message(message("runs-probed", runs=probed))
        finish(trainings, self.compute, stacked=stacked, keep_weights=self.keep_weights)
