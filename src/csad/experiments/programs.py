"""Runs of one kind trained as one program: what they share is trained once, and one that is stopped goes on."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from csad.errors import Diverged
from csad.experiments.finishing import Ended, finish
from csad.experiments.listeners import Teller
from csad.experiments.outdated import put_aside
from csad.experiments.pretraining import Pretrained, common_stages, key, moved_parts
from csad.experiments.selection import best_epochs, fit_selecting, state_taken
from csad.experiments.threshold import judged_by
from csad.experiments.wanted import Ready
from csad.training import checkpoint
from csad.training.checkpoint import Place, State
from csad.training.device import Way
from csad.training.fit import fit_many
from csad.training.log import Log
from csad.training.stack import why_not_stacked
from csad.training.stages import Training
from csad.training.watch import Onlooker


class Programs:
    """Trains stacks, one after the other; ``scratch`` has what they share, and where a stopped one stands."""

    def __init__(self, scratch: Path, way: Way, teller: Teller, *, keep_weights: bool) -> None:
        self.way, self.teller, self.keep_weights = way, teller, keep_weights
        self.stacks = scratch / "stacks"
        self.pretrained = Pretrained(scratch / "pretrained")

    def train(self, runs: Sequence[Ready]) -> list[str]:
        """Trains one stack to its end and writes the results; gives the names of runs that were lost."""
        if reason := why_not_stacked(runs[0].method):
            return self._train_alone(runs[0], reason)
        starts = self._pretrain(runs)
        lost = [run.wanted.name for run, start in zip(runs, starts, strict=True) if start is None]
        living = [(run, *start) for run, start in zip(runs, starts, strict=True) if start is not None]
        if not living:
            return lost
        chosen = [run for run, _, _ in living]
        keep = self._keep(chosen, "whole")
        if not all(run.folder.log.exists() for run in chosen):
            keep.unlink(missing_ok=True)  # one of them is begun anew
        if not keep.exists():
            for run, _, log in living:
                log.copy_to(run.folder.log)
        states = [state for _, state, _ in living if state is not None]
        training = self._fit(chosen, [Log(run.folder.log) for run in chosen], keep=keep, starts=states)
        if training is None:
            return [run.wanted.name for run in runs]
        ended = [
            Ended(run, state_taken(run.method, log, training.state_of(number)), log)
            for number, (run, log) in enumerate(zip(chosen, training.logs, strict=True))
            if number not in training.lost
        ]
        self._finish(ended, len(chosen))
        keep.unlink(missing_ok=True)
        return lost + [chosen[number].wanted.name for number in training.lost]

    def place_of(self, runs: Sequence[Ready], stage: int | None = None) -> Place:
        """How far these runs have come as one program: in that common stage, or in all that follows these."""
        if why_not_stacked(runs[0].method):
            return checkpoint.place_in(runs[0].folder.checkpoint)
        return checkpoint.place_in(self._keep(runs, "whole" if stage is None else f"stage {stage}"))

    def clear(self) -> None:
        """Removes what stopped stacks have left, once all runs are there."""
        shutil.rmtree(self.stacks, ignore_errors=True)

    def _pretrain(self, runs: Sequence[Ready]) -> list[tuple[State | None, Log] | None]:
        """For each run where its common stages lead; None for a run that is lost in them."""
        stages = common_stages(runs[0].method)
        if stages == 0:
            return [(None, Log()) for _ in runs]
        for count in range(1, stages + 1):
            missing: dict[str, Ready] = {}
            for run in runs:
                word, before = (key(run.config, run.method, number) for number in (count, count - 1))
                if not self.pretrained.holds(word) and (count == 1 or self.pretrained.holds(before)):
                    missing.setdefault(word, run)
            if missing:
                self._pretrain_stage(missing, count)
        words = [key(run.config, run.method, stages) for run in runs]
        return [self.pretrained.take(word) if self.pretrained.holds(word) else None for word in words]

    def _pretrain_stage(self, missing: Mapping[str, Ready], count: int) -> None:
        runs = list(missing.values())
        before = [self.pretrained.take(key(run.config, run.method, count - 1)) for run in runs] if count > 1 else []
        keep = self._keep(runs, f"stage {count}")
        for word, (_, log) in zip(missing, before, strict=False):
            if not keep.exists():
                log.copy_to(self.pretrained.log(word))
        logs = [Log(self.pretrained.log(word)) for word in missing]
        training = self._fit(runs, logs, keep=keep, starts=[state for state, _ in before], until=count)
        if training is None:
            return
        parts = moved_parts(runs[0].method, count)
        for number, word in enumerate(missing):
            if number not in training.lost:
                self.pretrained.keep(word, training.state_of(number), parts)
        keep.unlink(missing_ok=True)

    def _keep(self, runs: Sequence[Ready], what: str) -> Path:
        """Where a stack that is stopped is kept until it goes on: the same runs, with the same settings."""
        told = json.dumps([what, *(run.config for run in runs)], sort_keys=True)
        return self.stacks / f"{hashlib.sha256(told.encode()).hexdigest()[:20]}.safetensors"

    def _fit(self, runs: Sequence[Ready], logs: Sequence[Log], **options: Any) -> Training | None:
        """The training of a stack; None when all its runs have diverged."""
        many = f" and {len(runs) - 1} more" if len(runs) > 1 else ""
        self.teller.title = f"{runs[0].wanted.name}{many}"
        try:
            return fit_many(
                [run.method for run in runs],
                [run.dataset for run in runs],
                self.teller,
                self.way,
                seeds=[run.wanted.seed for run in runs],
                names=[run.wanted.name for run in runs],
                logs=logs,
                onlooker=_onlooker(runs),
                **options,
            )
        except Diverged as error:
            self.teller.warn(str(error))
            return None
        finally:
            self.teller.close()

    def _train_alone(self, run: Ready, reason: str) -> list[str]:
        self.teller.title = run.wanted.name
        self.teller.warn(f"This run is trained by itself: {reason}.")
        if moved := put_aside(run.folder.path):
            self.teller.say(moved)
        log, keep = Log(run.folder.log), run.folder.checkpoint
        try:
            fit_selecting(
                run.method,
                run.dataset,
                self.teller,
                self.way,
                seed=run.wanted.seed,
                log=log,
                keep=keep,
                resume=True,
                onlooker=_onlooker([run]),
            )
        except Diverged as error:
            self.teller.warn(str(error))
            return [run.wanted.name]
        finally:
            self.teller.close()
        self._finish([Ended(run, checkpoint.load(keep), log)], 1)
        return []

    def _finish(self, ended: Sequence[Ended], together: int) -> None:
        finish(ended, self.way, self.teller, together=together, keep_weights=self.keep_weights)


def _onlooker(runs: Sequence[Ready]) -> Onlooker | None:
    """Who looks at the runs of one program while they train."""
    if own := runs[0].wanted.onlooker:
        return own
    thresholds = [judged_by(run.config["task"], run.dataset, run.method.course.balance, None) for run in runs]
    return best_epochs([run.method for run in runs], [run.dataset for run in runs], thresholds)
