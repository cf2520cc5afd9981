"""The command that exports a run as one file, for use elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from csad.cli.backbones import OwnBackbones, load_runs
from csad.cli.console import Console, echo, one_sentence
from csad.cli.options import DataRoot, Folder, Json, Quiet
from csad.errors import InputError
from csad.messages import message

ENDINGS = ("onnx", "pt2", "safetensors")


@one_sentence
def export(
    run: Folder,
    format_: Annotated[
        str, typer.Option("--format", help="onnx, pt2 or safetensors. Default: the ending of --out, or onnx.")
    ] = "",
    out: Annotated[Path | None, typer.Option(help="The file to write. Default: RUN/model.FORMAT.")] = None,
    pixels: Annotated[
        str, typer.Option(help="Type of input pictures, uint8 or float32. Default: that of the data.")
    ] = "",
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Compare on random rows instead of the run's data.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    backbone: OwnBackbones = None,
    data_root: DataRoot = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Export a run without its bias branch as ONNX, torch.export or safetensors, and compare the file with the run."""
    from csad.export.export import LIMIT, check_possible, data_if_there, export_run

    console = Console(as_json, quiet)
    chosen = _format(format_, out)
    [loaded] = load_runs([run], backbone, "cpu")
    place = out or run / f"model.{chosen}"
    check_possible(place, chosen, force)  # before data are read, which may take long
    if not loaded.result:
        console.notice(message("unfinished-run-exported", run=run))
    dataset, why = (None, "--no-data was given.") if no_data else data_if_there(loaded, data_root)
    if dataset is None:
        console.message(message("export-compared-on-noise", reason=why))
    file = export_run(loaded, place, chosen, dataset=dataset, pixels=pixels, force=force)
    answer = {
        "run": str(run), "file": str(file.path), "format": file.format, "bytes": file.path.stat().st_size,
        "weights": file.weights, "finished": bool(loaded.result),
        **{key: file.about[key] for key in ("task", "method", "classes", "input")},
        "preparation": file.about["preparation"] is not None,
        "compared": {"rows": file.rows, "source": file.source, "difference": file.difference, "limit": LIMIT},
    }  # fmt: skip

    def show() -> None:
        size = f"{file.weights:,} weights, {file.path.stat().st_size / 1000:,.0f} kB"
        echo(f"Written: {file.path} ({size}; without the bias branch).")
        shape = ", ".join(map(str, file.about["input"]["shape"]))
        echo(f"Input: x (rows, {shape}) as {file.about['input']['dtype']}. Output: scores.")
        echo(
            f"Compared with the run on {file.rows} rows of {file.source}: the scores differ by at most "
            f"{file.difference:.1e}."
        )

    console.answer(answer, show)


def _format(requested: str, out: Path | None) -> str:
    """The format of --format, or of the ending of --out; raise InputError if the two contradict each other."""
    ending = out.suffix[1:].lower() if out else ""
    if requested and ending in ENDINGS and ending != requested:
        raise InputError("export-format-mismatch", ending=ending, format=requested)
    if ending and ending not in ENDINGS:
        raise InputError("unknown-export-ending", ending=ending, known=", .".join(ENDINGS))
    return requested or ending or "onnx"
