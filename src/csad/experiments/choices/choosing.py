"""A run on one's own data whose debias_weight (λ) is chosen on validation rows: several are tried as one program."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path

from csad.experiments.choices.asked import Asked
from csad.experiments.choices.choice import Choice
from csad.experiments.choices.folder import Lost, begin, beside, check_terms, clear, keep
from csad.experiments.choices.ladder import LADDER, weights_on, why_higher
from csad.experiments.choices.looks import Looks
from csad.experiments.choices.occasion import WEIGHT
from csad.experiments.choices.taken import taken_run, weights_taken
from csad.experiments.folder import Folder
from csad.experiments.forecast import carry_out
from csad.experiments.listeners import Teller, Unadvised
from csad.experiments.many import Campaign
from csad.experiments.run import Run, load
from csad.experiments.wanted import Ready, Wanted
from csad.training.device import Way


def choose(
    asked: Asked, way: Way, hearer: Teller, *, out: Path | None = None, resume: bool = False, force: bool = False
) -> Run:
    """The run with the chosen weight and epoch; in ``out`` it is an ordinary run folder that holds choice.json too.

    Until then what is tried lies beside it, in OUT.choosing, from where a stopped choice goes on with ``resume``.
    """
    teller = Unadvised(hearer)
    again = begin(out, resume=resume, force=force) if out is not None else False
    with tempfile.TemporaryDirectory() if out is None else nullcontext(beside(out)) as scratch:
        place = Path(scratch)
        campaign = Campaign(place / "shared", way, teller, keep_weights=True)
        runs, choice = _climb(asked, campaign, place, again=again, force=force, go_on=out is not None)
        taken = next(run for run in runs if run.wanted.plan.settings[WEIGHT] == choice.debias_weight)
        found = taken_run(asked, taken, choice, way)
        for text in found.log.warnings():
            hearer.warn(text)
        if out is None:
            return found
        keep(found, taken, weights_taken(taken, choice), Folder(out), force=force or again)
        run = load(out, backbone=asked.own_backbone, view=asked.dataset.view, device=str(way.device))
        clear(place)
        return run


def _climb(
    asked: Asked, campaign: Campaign, place: Path, *, again: bool, force: bool, go_on: bool
) -> tuple[list[Ready], Choice]:
    """Tries the weights of the ladder, each rung's as one program; gives the runs, and the choice among them."""
    device, advice = str(campaign.way.device), "Give --resume to go on." if go_on else ""
    lost = Lost(place, fresh=not again)
    [plain] = _begun(campaign, [asked.vanilla(place)], again=again, force=force)
    check_terms(asked, place, again=again)
    vanilla = cache(lambda: asked.measured(plain, device))  # it is trained first, and then asked for often
    looks = Looks(asked.scored, asked.cost, vanilla)
    runs: list[Ready] = []
    higher = ""
    for rungs in LADDER:
        weights = weights_on(asked.plan.settings[WEIGHT], rungs)
        told = ", ".join(f"{weight:g}" for weight in weights)
        first = f"{WEIGHT} is chosen on the validation split: {told} are tried, beside vanilla."
        campaign.teller.say(f"{higher}: {told} are tried too." if runs else first)
        more = _begun(campaign, asked.weighted(weights, place, looks), again=again, force=force)
        for run, weight in zip(more, weights, strict=True):
            looks.add(run.folder, weight, over=run.folder.result.exists() or run.wanted.name in lost)
        wanted = [run for run in (*(() if runs else (plain,)), *more) if run.wanted.name not in lost]
        lost.add(carry_out(campaign, asked.method, wanted, advice))
        for run, weight in zip(more, weights, strict=True):
            looks.add(run.folder, weight, over=True)  # one that was stopped at its very end was not looked at again
        runs += more
        choice = asked.decided(vanilla(), runs, looks, device)
        if not (higher := why_higher(choice)):
            return runs, choice
    campaign.teller.say(f"{higher}; larger weights are not tried.")
    return runs, choice


def _begun(campaign: Campaign, wanted: Sequence[Wanted], *, again: bool, force: bool) -> list[Ready]:
    """The runs, with their folders made."""
    runs = [campaign.ready(one, resume=again, force=force) for one in wanted]
    campaign.begin(runs, resume=again, force=force)
    return runs
