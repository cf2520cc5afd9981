"""What can be wrong with a user's own table, and with a run on it, case by case."""

from __future__ import annotations

from importlib.util import find_spec

from own_case import PREDICT, Case
from own_faults import (
    CONFIG,
    PREPARATION,
    STATE,
    a_million_words,
    each,
    fewer,
    numberless,
    pickled,
    prepared,
    renamed,
    reshaped,
    spoiled,
    swapped,
    table,
    text,
    unkind,
    weights,
    write,
)
from own_homes import ON_OWN
from people_tables import PEOPLE, SHORT, N

TRAIN = [*ON_OWN, "--out", "new"]
BARE = ["train", "own.csv", "--target", "income", "--bias", "gender", *SHORT, "--out", "new"]
AUDIT = ["audit", "run", "--device", "cpu"]
EXPORT = ["export", "run", "--format", "safetensors"]
PARQUET = "cannot be read as Parquet" if find_spec("pyarrow") else "needs pyarrow: pip install 'csad[tables]'"


UNIQUE = {"family": [f"fam{k}" for k in range(N)]}
MIXED = {"age": [*range(20, 20 + N - 1), "unknown"]}

CASES = [
    # The file itself.
    Case("an empty file", TRAIN, "own.csv is empty", write("own.csv", "")),
    Case("blank lines only", TRAIN, "own.csv is empty", write("own.csv", "\n\n \n")),
    Case("a header only", TRAIN, "own.csv holds no rows", text(lambda t: t.splitlines()[0] + "\n")),
    Case(
        "a folder",
        TRAIN,
        "own.csv cannot be read: Is a directory",
        lambda f: [(f / "own.csv").unlink(), (f / "own.csv").mkdir()],
    ),
    Case("a file that is not there", TRAIN, "own.csv cannot be read: No such file", lambda f: (f / "own.csv").unlink()),
    Case(
        "a broken link",
        TRAIN,
        "own.csv cannot be read: No such file",
        lambda f: [(f / "own.csv").unlink(), (f / "own.csv").symlink_to("gone.csv")],
    ),
    Case(
        "a delimiter that is none of ours",
        TRAIN,
        "set columns apart by a comma, semicolon, tab or |",
        each(lambda line: line.replace(",", "~")),
    ),
    Case("spaces for delimiters", TRAIN, "set columns apart by a comma", each(lambda line: line.replace(",", "  "))),
    Case(
        "Latin-1",
        TRAIN,
        "own.csv is not UTF-8: byte 0xe9 in line 2",
        text(lambda t: t.replace("Rome", "Liège").replace("è", "é").encode("latin1")),
    ),
    Case("UTF-16", TRAIN, "is UTF-16: save it as UTF-8", text(lambda t: t.encode("utf-16"))),
    Case(
        "an Excel file",
        TRAIN,
        "is a zip file, as Excel writes them: save it as CSV UTF-8",
        write("own.csv", b"PK\x03\x04xl/workbook.xml"),
    ),
    Case("a compressed file", TRAIN, "is compressed: unpack it first", write("own.csv", b"\x1f\x8b\x08\x00")),
    Case(
        "NUL bytes",
        TRAIN,
        "own.csv has a NUL byte in line 4, as no text has",
        text(lambda t: t.replace("Lima", "L\0ima", 1)),
    ),
    Case("a file of NUL bytes", TRAIN, "own.csv has a NUL byte in line 1", write("own.csv", bytes(5000))),
    Case(
        "a very long cell",
        TRAIN,
        "has a cell of over 131,072 characters",
        text(lambda t: t.replace("Lima", "L" * 200_000, 1)),
    ),
    Case(
        "a very long line",
        TRAIN,
        "has 300,008 values in line 4 where its header names 8",
        text(lambda t: t.replace("Lima", "Lima" + ",x" * 300_000, 1)),
    ),
    Case(
        "duplicate headers",
        TRAIN,
        "names 'age' twice in its header: rename one",
        text(lambda t: t.replace("city", "age", 1)),
    ),
    Case("no header", TRAIN, "Column 'income' is not in own.csv", text(lambda t: t.split("\n", 1)[1])),
    Case("quotes never closed", TRAIN, "a quote", text(lambda t: t.replace("Lima", '"Lima', 1))),
    Case(
        "ragged rows",
        TRAIN,
        "has 9 values in line 4 where its header names 8 columns",
        text(lambda t: t.replace("Lima", "Lima,more", 1).replace("Oslo", '"Oslo,"', 1)),
    ),
    Case(
        "a row that is too short",
        TRAIN,
        "has 7 values in line 2 where its header names 8",
        text(lambda t: t.replace("Rome,", "", 1)),
    ),
    Case(
        "a truncated Parquet file",
        ["train", "own.parquet", *TRAIN[2:]],
        PARQUET,
        write("own.parquet", b"PAR1\x15\x04\x15"),
    ),
    Case(
        "an ending that is none of ours",
        ["train", "own.xlsx", *TRAIN[2:]],
        "only for a table of your own (.csv, .parquet)",
        write("own.xlsx", b"PK"),
    ),
    # Its columns.
    Case(
        "a target that is not there",
        ["train", "own.csv", "--target", "incom", *TRAIN[4:]],
        "Column 'incom' is not in own.csv. Nearest: income.",
    ),
    Case(
        "a constant target",
        TRAIN,
        "Target 'income' is 'low' in every row: two classes or more",
        table({"income": ["low"] * N}),
    ),
    Case(
        "a target inside the bias",
        ["train", "own.csv", "--target", "income", "--bias", "gender,income"],
        "'income' is the target and a bias",
    ),
    Case(
        "a column twice in --bias",
        ["train", "own.csv", "--target", "income", "--bias", "gender,gender"],
        "Column 'gender' is named twice; name it once.",
    ),
    Case("no target known", TRAIN, "Target 'income' of own.csv is missing in every row", table({"income": [None] * N})),
    Case(
        "no bias known",
        TRAIN,
        "Bias 'gender' is missing in every row whose target is known",
        table({"gender": [None] * N}),
    ),
    Case(
        "a bias of one value for a method that needs two",
        ["csad" if word == "vanilla" else word for word in TRAIN],
        "has only one value in the training rows",
        table({"gender": ["f"] * N}),
    ),
    Case("mixed types", TRAIN, "Column 'age' of own.csv holds numbers, but 'unknown' in line 81", table(MIXED)),
    Case(
        "a million categories",
        ["train", "own.csv", "--target", "income", "--bias", "gender", "--out", "new"],
        "Target 'income' holds too many different words to be classes",
        a_million_words,
    ),
    Case(
        "a target of dates",
        TRAIN,
        "Target 'income' holds dates",
        table({"income": [f"2020-01-{1 + k % 28:02d}" for k in range(N)]}),
    ),
    Case(
        "a bias of many numbers",
        ["train", "own.csv", "--target", "income", "--bias", "hours"],
        "say how far apart two are alike (--width hours=5)",
        table({"hours": [k + 0.5 for k in range(N)]}),
    ),
    Case(
        "nothing left to learn from",
        TRAIN,
        "No column of own.csv is left to learn from",
        table(without=("age", "city", "hours")),
    ),
    Case(
        "a group that is unknown in some rows",
        [*BARE, "--group", "city"],
        "Column 'city' of own.csv says who a row belongs to, but 1 rows lack it",
    ),
    Case("a group that is the target", [*BARE, "--group", "income"], "Column 'income' is the target and the group"),
    Case(
        "a group that is in two splits",
        [*BARE, "--split", "fold", "--group", "city", "--drop", "who,family"],
        "a group belongs in one split",
        table({"city": ["Rome"] * N}),
    ),
    Case(
        "an unknown word in the split",
        TRAIN,
        "train, validation or test (column 'fold' of own.csv), but 'holdout' is there",
        table({"fold": ["holdout", *PEOPLE["fold"][1:]]}),
    ),
    Case(
        "a split without training rows",
        TRAIN,
        "No row whose target is known is for 'train'",
        table({"fold": ["test"] * N}),
    ),
    Case("a split that some rows lack", TRAIN, "but 1 do not", table({"fold": [None, *PEOPLE["fold"][1:]]})),
    # Predicting.
    Case(
        "a file to predict for that lacks a column", PREDICT, "Column 'age' is not in own.csv", table(without=("age",))
    ),
    Case("an empty file to predict for", PREDICT, "own.csv is empty", write("own.csv", "")),
    Case("a header to predict for", PREDICT, "own.csv holds no rows", text(lambda t: t.splitlines()[0])),
    Case(
        "words for numbers to predict for",
        PREDICT,
        "Column 'age' of own.csv must hold numbers, as in training",
        table({"age": ["old"] * N}),
    ),
    Case(
        "dates for words to predict for",
        PREDICT,
        "Column 'city' of own.csv must hold Lima, Oslo, Rome, as in training, but it holds dates",
        table({"city": ["2020-01-02"] * N}),
    ),
    Case("an id that is not there", [*PREDICT, "--id", "whom"], "Column 'whom' is not in own.csv. Nearest: who."),
    Case(
        "predictions over what is read",
        [*PREDICT, "--out", "own.csv", "--force"],
        "own.csv is the file that is read: give another --out.",
    ),
    Case(
        "predictions over another file",
        [*PREDICT, "--out", "kept.csv"],
        "kept.csv exists: give --force to write over it",
        write("kept.csv", "mine"),
    ),
    Case("predictions into no folder", [*PREDICT, "--out", "no/new.csv"], "no/new.csv cannot be written"),
    Case("arrays of Python objects", ["predict", "run", "own.npz"], "holds Python objects", pickled),
    # Run folders.
    Case("a folder that is no run", ["audit", "of"], "of is not a run folder", lambda f: (f / "of").mkdir()),
    Case("a table for a run", ["audit", "own.csv"], "own.csv is not a run folder"),
    Case("an export without weights", EXPORT, "The weights of run were not kept", lambda f: (f / STATE).unlink()),
    Case("an audit without weights", AUDIT, "The weights of run were not kept", lambda f: (f / STATE).unlink()),
    Case(
        "a table that has changed",
        AUDIT,
        "are not those that this run was trained on",
        text(lambda t: t.replace("high", "low", 3)),
    ),
    Case(
        "a table that has gone",
        AUDIT,
        "is not there: give --data-root FOLDER that holds own.csv",
        lambda f: (f / "own.csv").unlink(),
    ),
    Case("a table of other columns", AUDIT, "Column 'family' is not in", table(without=("family",))),
    Case(
        "a run of another version",
        AUDIT,
        "is not whole ('settings'; it was written by csad 9.0, and this is",
        text(lambda t: t.replace('csad = "0.1.0"', 'csad = "9.0"').replace("[settings]", "[ways]"), CONFIG),
    ),
    Case(
        "a run with settings of another version",
        AUDIT,
        "it was written by csad 9.0",
        text(lambda t: t.replace('csad = "0.1.0"', 'csad = "9.0"').replace('"mlp"', '"perceiver"'), CONFIG),
    ),
    Case(
        "a checkpoint of another version",
        AUDIT,
        "is not a checkpoint of this version of csad: train the run again",
        weights(lambda tensors: None, format="csad-checkpoint-0"),
    ),
    Case("a checkpoint with a tensor renamed", AUDIT, "cannot be read as a checkpoint of this run", weights(renamed)),
    Case("a checkpoint with a tensor reshaped", PREDICT, "has the shape", weights(reshaped)),
    Case("a checkpoint that is not of numbers", PREDICT, "holds weights that are not numbers", weights(spoiled)),
    Case(
        "a checkpoint cut short",
        EXPORT,
        "cannot be read as a checkpoint of this run",
        lambda f: (f / STATE).write_bytes((f / STATE).read_bytes()[:999]),
    ),
    Case(
        "a pickle for a checkpoint",
        PREDICT,
        "cannot be read as a checkpoint of this run",
        write(STATE, b"\x80\x04\x95cposix\nsystem\n"),
    ),
    Case("a preparation that is no JSON", PREDICT, "preparation.json cannot be read", write(PREPARATION, "{")),
    Case("a preparation that is a list", PREDICT, "is not whole", write(PREPARATION, "[]")),
    Case(
        "a preparation of another version",
        PREDICT,
        "its version is 99, not 1",
        prepared(lambda values: values.update(version=99)),
    ),
    Case(
        "a preparation of another column", PREDICT, "Column 'agee' is not in own.csv. Nearest: age.", prepared(swapped)
    ),
    Case(
        "a preparation of an unknown kind", PREDICT, "is not whole (the kind of 'age' is 'picture')", prepared(unkind)
    ),
    Case("a preparation without numbers", PREDICT, "is not whole (its mean is 'forty')", prepared(numberless)),
    Case("a preparation that lacks a column", PREDICT, "makes 5 columns where the model takes 6", prepared(fewer)),
    Case(
        "a preparation with another number",
        PREDICT,
        "preparation.json was changed since the run was trained",
        text(lambda t: t.replace('"fill": 48.0', '"fill": 50.0'), PREPARATION),
    ),
    Case(
        "an audit with another preparation",
        AUDIT,
        "was changed since the run was trained",
        text(lambda t: t.replace('"Oslo"', '"Bonn"'), PREPARATION),
    ),
    Case(
        "no preparation", PREDICT, "cannot tell what the columns of own.csv are", lambda f: (f / PREPARATION).unlink()
    ),
    # Where a run is to go.
    Case("a file as --out", [*TRAIN[:-1], "own.csv"], "own.csv exists and is not a run of csad: give another --out."),
    Case(
        "a folder of others as --out",
        [*TRAIN[:-1], "of"],
        "of exists and is not a run of csad",
        lambda f: [(f / "of").mkdir(), (f / "of" / "a").touch()],
    ),
    Case("a run as --out, told before data are read", ["train", "gone.csv", *TRAIN[2:-1], "run"], "run already holds"),
    Case("a run as --out", [*TRAIN[:-1], "run"], "run already holds a run: give --resume to go on with it"),
    Case(
        "--out below a file",
        [*TRAIN[:-1], "own.csv/new"],
        "own.csv/new cannot be written (Not a directory): give another --out.",
    ),
    Case("--out where nobody may write", [*TRAIN[:-1], "/proc/new"], "/proc/new cannot be written"),
    # What is odd, and yet works.
    Case("a byte order mark", TRAIN, "income  2 different words", text(lambda t: "\ufeff" + t), works=True),
    Case("semicolons", TRAIN, "Rows: train 40, test 40", each(lambda line: line.replace(",", ";")), works=True),
    Case("tabs", TRAIN, "Rows: train 40, test 40", each(lambda line: line.replace(",", "\t")), works=True),
    Case(
        "line ends of Windows",
        TRAIN,
        "Rows: train 40, test 40",
        text(lambda t: t.replace("\r\n", "\n").replace("\n", "\r\n")),
        works=True,
    ),
    Case(
        "a group of which each row has its own",
        [*BARE, "--group", "family", "--drop", "who,fold"],
        "Each row is a group of its own",
        table(UNIQUE),
        works=True,
    ),
    Case(
        "a column that is the same everywhere",
        TRAIN,
        "Column 'city' is left out: it is the same in all training rows.",
        table({"city": ["Rome"] * N}),
        works=True,
    ),
    Case(
        "cells that spreadsheets would execute",
        TRAIN,
        "Rows: train 40, test 40",
        table({"city": ["=cmd|' /C calc'!A0", *PEOPLE["city"][1:]]}),
        works=True,
    ),
    Case(
        "words that training did not know",
        PREDICT,
        "holds words that training did not know, in 80 rows",
        table({"city": ["Bonn"] * N}),
        works=True,
    ),
]
