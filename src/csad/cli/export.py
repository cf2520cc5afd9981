"""The command that makes one file of a run, for use elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Folder, Json, Quiet
from csad.errors import InputError

ENDINGS = ("onnx", "pt2", "safetensors")


@one_sentence
def export(
    run: Folder,
    format_: Annotated[
        str, typer.Option("--format", help="onnx, pt2 or safetensors; if not given as --out ends, else onnx.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="The file; RUN/model.FORMAT if not given.")] = None,
    pixels: Annotated[
        str, typer.Option(help="How pictures come in, as uint8 or float32; if not given, as in the data.")
    ] = "",
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Compare on random rows, without reading the run's data.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    backbone: OwnBackbones = None,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make one file of a run's F, D_y and P_y, checked against the run itself: ONNX, torch.export or safetensors."""
    from csad.experiments.exports.exporting import LIMIT, check_possible, export_run
    from csad.experiments.exports.rows import data_if_there

    console = Console(as_json, quiet)
    chosen = _format(format_, out)
    [found] = load_runs([run], backbone, "cpu")
    place = out or run / f"model.{chosen}"
    check_possible(place, chosen, force)  # before data are read, which may take long
    if not found.result:
        console.notice("The run is not finished: the file is made of its last checkpoint.")
    dataset, why = (None, "--no-data was given.") if no_data else data_if_there(found, data_root)
    if dataset is None:
        console.say(f"The file is compared with the run on random rows. {why}")
    made = export_run(found, place, chosen, dataset=dataset, pixels=pixels, force=force)
    answer = {
        "run": str(run), "file": str(made.path), "format": made.format, "bytes": made.path.stat().st_size,
        "weights": made.weights, "finished": bool(found.result),
        **{key: made.about[key] for key in ("task", "method", "classes", "input")},
        "preparation": made.about["preparation"] is not None,
        "compared": {"rows": made.rows, "source": made.source, "difference": made.difference, "limit": LIMIT},
    }  # fmt: skip

    def show() -> None:
        size = f"{made.weights:,} weights, {made.path.stat().st_size / 1000:,.0f} kB"
        echo(f"Written: {made.path} ({size}; no bias branch).")
        shape = ", ".join(map(str, made.about["input"]["shape"]))
        echo(f"Input: x (rows, {shape}) as {made.about['input']['dtype']}. Output: scores.")
        echo(f"Compared with the run on {made.rows} rows of {made.source}: at most {made.difference:.1e} apart.")

    console.answer(answer, show)


def _format(given: str, out: Path | None) -> str:
    """The format that was asked for, or that --out ends in; the two must not contradict each other."""
    ending = out.suffix[1:].lower() if out else ""
    if given and ending in ENDINGS and ending != given:
        raise InputError(f"--out ends in .{ending} but --format is {given}: give a name that ends in .{given}.")
    if ending and ending not in ENDINGS:
        raise InputError(f"--out ends in .{ending}: give a name that ends in .{', .'.join(ENDINGS)}.")
    return given or ending or "onnx"
