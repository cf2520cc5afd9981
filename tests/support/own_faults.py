"""What can be wrong with a user's table, pictures or run: each a change to the folder that holds them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from safetensors.torch import load_file, save_file

from tests.support.people_tables import N, write_people

Change = Callable[[Path], Any]
STATE, CONFIG, PREPARATION = "run/checkpoint/state.safetensors", "run/config.toml", "run/preparation.json"


def table(changes: dict[str, Any] | None = None, *, without: tuple[str, ...] = ()) -> Change:
    return lambda folder: write_people(folder / "own.csv", changes, without=without)


def text(change: Callable[[str], str | bytes], name: str = "own.csv") -> Change:
    def do(folder: Path) -> None:
        made = change((folder / name).read_text(encoding="utf-8"))
        (folder / name).write_bytes(made if isinstance(made, bytes) else made.encode())

    return do


def write(name: str, data: str | bytes) -> Change:
    return lambda folder: (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def each(change: Callable[[str], str]) -> Change:
    """Every line of own.csv changed alike."""
    return text(lambda all_: "".join(change(line) + "\n" for line in all_.splitlines()))


def faces(names: Callable[[int], str] = lambda k: f"{k}.png", broken: tuple[int, ...] = ()) -> Change:
    def do(folder: Path) -> None:
        rows = [f"{names(k)},{'yes' if k % 2 else 'no'},{'red' if k // 2 % 2 else 'grey'}" for k in range(N)]
        (folder / "faces.csv").write_text("\n".join(["file,bright,hue", *rows]) + "\n")
        with zipfile.ZipFile(folder / "faces.zip", "w") as archive:
            for k in range(N):
                stream = io.BytesIO()
                Image.fromarray(np.full((8, 8, 3), 40 + 2 * k, np.uint8)).save(stream, "PNG")
                archive.writestr(f"{k}.png", b"no picture" if k in broken else stream.getvalue())

    return do


def many_faces(folder: Path) -> None:
    """One broken picture in two hundred, of which one is tolerated."""
    faces()(folder)
    rows = [line for line in (folder / "faces.csv").read_text().splitlines()[1:] if not line.startswith("5.png")]
    (folder / "faces.csv").write_text("\n".join(["file,bright,hue", *rows * 3, "5.png,yes,grey"]) + "\n")
    with zipfile.ZipFile(folder / "faces.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(folder / "faces.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, b"no picture" if name == "5.png" else data)


def walks(names: Callable[[int], str] = lambda k: f"{k}.csv", broken: Mapping[str, bytes] | None = None) -> Change:
    """A table that names a series for each row, and an archive of them; some may be broken."""

    def do(folder: Path) -> None:
        rows = [f"{names(k)},{'yes' if k % 2 else 'no'},{'f' if k // 2 % 2 else 'm'}" for k in range(N)]
        (folder / "walks.csv").write_text("\n".join(["file,ill,sex", *rows]) + "\n")
        good = {f"{k}.csv": "".join(f"{k % 2 + t},{k}\n" for t in range(6)).encode() for k in range(N)}
        with zipfile.ZipFile(folder / "walks.zip", "w") as archive:
            for name, data in (good | dict(broken or {})).items():
                archive.writestr(name, data)

    return do


def many_walks(folder: Path) -> None:
    """One broken series in a hundred, which is tolerated."""
    walks(broken={f"more/{k}.csv": b"1,2\n3,4\n" for k in range(19)} | {"bad.csv": b""})(folder)
    names = [*(f"more/{k}.csv" for k in range(19)), "bad.csv"]
    more = [f"{name},{'yes' if k % 2 else 'no'},f" for k, name in enumerate(names)]
    with (folder / "walks.csv").open("a") as stream:
        stream.write("\n".join(more) + "\n")


def trapped_walk(folder: Path) -> None:
    """An array of objects that would write a file if anyone unpickled them."""

    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (folder / "executed",))

    stream = io.BytesIO()
    np.save(stream, np.array([Trap()], dtype=object), allow_pickle=True)
    walks(lambda k: "trap.npy" if k == 3 else f"{k}.csv", {"trap.npy": stream.getvalue()})(folder)


def a_million_words(folder: Path) -> None:
    rows = "".join(f"w{k},{k % 2},{k // 2 % 2}\n" for k in range(1_000_000))
    (folder / "own.csv").write_text("income,gender,age\n" + rows)


def prepared(change: Callable[[dict[str, Any]], Any]) -> Change:
    def do(folder: Path) -> None:
        values = json.loads((folder / PREPARATION).read_text())
        del values["seal"]  # as if somebody had been thorough, or a first version had written it
        change(values)
        (folder / PREPARATION).write_text(json.dumps(values))

    return do


def weights(change: Callable[[dict[str, Any]], Any], **about: str) -> Change:
    """The checkpoint with other tensors, as if somebody had worked on it."""

    def do(folder: Path) -> None:
        tensors = load_file(folder / STATE)
        change(tensors)
        place = '{"stage": 1, "epoch": 0, "batch": 0, "step": 1}'
        save_file(tensors, folder / STATE, metadata={"format": "csad-checkpoint-1", "place": place} | about)

    return do


def pickled(folder: Path) -> None:
    """Objects that would write a file if anyone unpickled them."""

    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (folder / "executed",))

    np.savez(folder / "own.npz", x=np.array([Trap()], dtype=object))


def swapped(values: dict[str, Any]) -> None:
    values["columns"][0]["column"] = "agee"


def unkind(values: dict[str, Any]) -> None:
    values["columns"][0]["kind"] = "picture"


def numberless(values: dict[str, Any]) -> None:
    values["columns"][0]["mean"] = "forty"


def fewer(values: dict[str, Any]) -> None:
    del values["columns"][0]


def renamed(tensors: dict[str, Any]) -> None:
    tensors["method/F.other"] = tensors.pop(next(name for name in tensors if name.startswith("method/F.")))


def reshaped(tensors: dict[str, Any]) -> None:
    name = next(name for name in tensors if name.startswith("method/F.") and tensors[name].ndim == 2)
    tensors[name] = tensors[name][:, 1:].contiguous()


def spoiled(tensors: dict[str, Any]) -> None:
    next(values for name, values in tensors.items() if name.startswith("method/F.")).fill_(float("nan"))
