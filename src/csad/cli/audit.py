"""The command that audits a run: the verdict in plain words, tables below it, audit.json in the run's folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Device, Folder, Json, Quiet
from csad.errors import unknown

if TYPE_CHECKING:
    from csad.auditing.audit import Audit
    from csad.auditing.comparison import Difference
    from csad.auditing.measured import Cell, Figure
    from csad.auditing.verdicts import Verdict

# What --fail-on takes, and the verdicts that then are a failure: who will not have doubt will not have leaks either.
FAILURES = {"leaks": ("leaks",), "cannot-tell": ("leaks", "cannot tell")}
FAILED = 3
Row = list[str]


@one_sentence
def audit(
    run: Folder,
    split: Annotated[str, typer.Option(help="Which rows of the run's data.")] = "test",
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Another run on the same data, such as a vanilla one.")
    ] = None,
    margin: Annotated[float, typer.Option(help="An AUC that is so far above chance must not be overlooked.")] = 0.05,
    level: Annotated[float, typer.Option(help="How sure verdicts and intervals are.")] = 0.95,
    among: Annotated[
        str, typer.Option(help="target: rows are compared with those of the same target; all: with one another.")
    ] = "target",
    rows: Annotated[int, typer.Option(help="How many rows are read at most.")] = 20_000,
    seed: Annotated[int, typer.Option(help="What is drawn at random follows from it.")] = 0,
    fail_on: Annotated[
        str, typer.Option(help="leaks: exit code 3 where the prediction leaks; cannot-tell: also where it is unclear.")
    ] = "",
    backbone: OwnBackbones = None,
    device: Device = "auto",
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say whether a run's prediction leaks a bias, and what it gets right for whom."""
    from csad.auditing.audited import Settings
    from csad.experiments.audits.kept import check_writable, keep, record
    from csad.experiments.audits.of_run import audit_run, check_same_data
    from csad.experiments.reading import data_of, name_of

    if fail_on and fail_on not in FAILURES:
        raise unknown("verdict to fail on", fail_on, FAILURES)
    settings = Settings(among, margin=margin, level=level, most_rows=rows, seed=seed)
    console = Console(as_json, quiet)
    ours, *others = load_runs([run] if against is None else [run, against], backbone, device)
    theirs = others[0] if others else None
    check_writable(run)
    if theirs is not None:
        check_same_data(ours, theirs)  # before data are read, which may take long
    data = data_of(ours, data_root, call="csad.audit(run, X, y, b)")
    found = audit_run(ours, dataset=data, split=split, against=theirs, settings=settings, tell=console.say)
    answer, place, said = keep(record(found, ours, data, split, theirs), run)
    failed = bool(fail_on) and found.state in FAILURES[fail_on]

    def show() -> None:
        echo(f"{answer['method']} on {name_of(answer['task'])}, {split}, {found.rows:,} rows.")
        echo(found.words)
        if found.comparison is not None:
            echo(found.comparison.words)
        for title, columns, lines in tables(found):
            console.table(title, columns, lines)
        of_columns = [f"{v.bias}: {note}" for v in found.leakage.verdicts for note in v.notes]
        for note in dict.fromkeys([*found.notes, *of_columns]):
            echo(f"Note: {note}")
        echo(f"Written: {place}")
        if said:
            echo(said)

    if said and as_json:
        console.say(said)
    console.answer(answer | {"failed": failed}, show)
    if failed:
        raise typer.Exit(FAILED)


def tables(found: Audit) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
    """(title, columns, rows) of all that an audit found; what there is none of is left out."""
    probes = list(dict.fromkeys(r.probe for v in found.leakage.verdicts for r in v.readings))
    beside = " among rows of the same target" if found.leakage.conditional else ""
    lines = [_verdict_row(v, probes) for v in found.leakage.verdicts]
    yield f"AUC of fresh readers{beside}; chance is .50", ["from", "bias", "verdict", *probes, "p, corrected"], lines
    if found.comparison is not None:
        name = found.comparison.against
        lines = [[f"{r.bias} from {r.layer}, {r.probe}", *_difference_row(r.auc)] for r in found.comparison.readings]
        yield f"AUC of fresh readers against {name}", ["reading", "this", name, "difference"], lines
        lines = [[figure, *_difference_row(value)] for figure, value in found.comparison.figures.items()]
        if lines:
            yield f"Figures against {name}", ["figure", "this", name, "difference"], lines
    elif found.figures:
        yield "Figures", ["figure", "value"], [[name, _told(figure)] for name, figure in found.figures.items()]
    if found.alignment:
        lines = [
            [
                a.bias,
                f"{_told(a.aligned)}, {a.aligned_rows:,} rows",
                f"{_told(a.conflicting)}, {a.conflicting_rows:,} rows",
                _told(a.difference),
            ]
            for a in found.alignment
        ]
        yield (
            "Accuracy where the bias goes with the target as in training, and where it goes against it",
            ["bias", "aligned", "conflicting", "difference"],
            lines,
        )
    yield from _cell_tables(found)
    if found.groups:
        names = list(dict.fromkeys(name for group in found.groups for name in group.figures))
        lines = [[g.bias, g.group, f"{g.rows:,}", *(_told(g.figures[name]) for name in names)] for g in found.groups]
        yield "Groups", ["bias", "group", "rows", *names], lines


def _cell_tables(found: Audit) -> Iterator[tuple[str, Sequence[str], list[Row]]]:
    for bias in dict.fromkeys(cell.bias for cell in found.cells):
        cells = {(c.target, c.group): c for c in found.cells if c.bias == bias}
        groups = list(dict.fromkeys(group for _, group in cells))
        lines = [[target, *(_cell(cells.get((target, group))) for group in groups)] for target in found.targets]
        yield f"Accuracy (rows) by target and {bias}", ["target", *groups], lines


def _verdict_row(verdict: Verdict, probes: Sequence[str]) -> Row:
    by_probe = {r.probe: f"{r.score:.3f} ({r.low:.3f} … {r.high:.3f})" for r in verdict.readings}
    least = min((r.p_corrected for r in verdict.readings), default=None)
    state = verdict.state if verdict.needed_rows is None else f"{verdict.state}: {verdict.needed_rows:,} rows would do"
    told = [by_probe.get(probe, "–") for probe in probes]
    return [verdict.layer, verdict.bias, state, *told, "–" if least is None else f"{least:.3f}"]


def _difference_row(difference: Difference) -> Row:
    return [f"{difference.value:.3f}", f"{difference.other:.3f}", str(difference)]


def _told(figure: Figure) -> str:
    return f"{figure.value:.3f}" + ("" if figure.low is None else f" ({figure.low:.3f} … {figure.high:.3f})")


def _cell(cell: Cell | None) -> str:
    return "–" if cell is None else f"{cell.accuracy.value:.3f} ({cell.rows:,})"
