"""What can be wrong with a user's own table, and with a run on it, case by case."""

from __future__ import annotations

import re
from importlib.util import find_spec

from csad import __version__
from tests.support.messages import Refusal
from tests.support.own_case import PREDICT, Case
from tests.support.own_faults import (
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
from tests.support.own_homes import ON_OWN
from tests.support.people_tables import PEOPLE, SHORT, N

TRAIN = [*ON_OWN, "--out", "new"]
BARE = ["train", "own.csv", "--target", "income", "--bias", "gender", *SHORT, "--out", "new"]
AUDIT = ["audit", "run", "--device", "cpu"]
EXPORT = ["export", "run", "--format", "safetensors"]
PARQUET = Refusal("parquet-unreadable" if find_spec("pyarrow") else "pyarrow-not-installed", file="own.parquet")


UNIQUE = {"family": [f"fam{k}" for k in range(N)]}
MIXED = {"age": [*range(20, 20 + N - 1), "unknown"]}

CASES = [
    # The file itself.
    Case("an empty file", TRAIN, Refusal("csv-file-empty", file="own.csv"), write("own.csv", "")),
    Case("blank lines only", TRAIN, Refusal("csv-file-empty", file="own.csv"), write("own.csv", "\n\n \n")),
    Case(
        "a header only", TRAIN, Refusal("file-without-rows", file="own.csv"), text(lambda t: t.splitlines()[0] + "\n")
    ),
    Case(
        "a folder",
        TRAIN,
        Refusal("file-unreadable", file="own.csv", reason="Is a directory"),
        lambda f: [(f / "own.csv").unlink(), (f / "own.csv").mkdir()],
    ),
    Case(
        "a file that is not there",
        TRAIN,
        Refusal("file-unreadable", file="own.csv"),
        lambda f: (f / "own.csv").unlink(),
    ),
    Case(
        "a broken link",
        TRAIN,
        Refusal("file-unreadable", file="own.csv"),
        lambda f: [(f / "own.csv").unlink(), (f / "own.csv").symlink_to("gone.csv")],
    ),
    Case(
        "a delimiter that is none of ours",
        TRAIN,
        Refusal("csv-one-column", file="own.csv"),
        each(lambda line: line.replace(",", "~")),
    ),
    Case(
        "spaces for delimiters",
        TRAIN,
        Refusal("csv-one-column", file="own.csv"),
        each(lambda line: line.replace(",", "  ")),
    ),
    Case(
        "Latin-1",
        TRAIN,
        Refusal("csv-byte-not-utf8", file="own.csv", byte="byte 0xe9 in line 2"),
        text(lambda t: t.replace("Rome", "Liège").replace("è", "é").encode("latin1")),
    ),
    Case(
        "UTF-16",
        TRAIN,
        Refusal("not-a-table-file", file="own.csv", problem=re.compile("UTF-16")),
        text(lambda t: t.encode("utf-16")),
    ),
    Case(
        "an Excel file",
        TRAIN,
        Refusal("not-a-table-file", file="own.csv", problem=re.compile("Excel.*CSV UTF-8")),
        write("own.csv", b"PK\x03\x04xl/workbook.xml"),
    ),
    Case(
        "a compressed file",
        TRAIN,
        Refusal("not-a-table-file", file="own.csv", problem=re.compile("compressed")),
        write("own.csv", b"\x1f\x8b\x08\x00"),
    ),
    Case(
        "NUL bytes",
        TRAIN,
        Refusal("csv-nul-byte", file="own.csv", line=4),
        text(lambda t: t.replace("Lima", "L\0ima", 1)),
    ),
    Case("a file of NUL bytes", TRAIN, Refusal("csv-nul-byte", file="own.csv", line=1), write("own.csv", bytes(5000))),
    Case(
        "a very long cell",
        TRAIN,
        Refusal("csv-cell-too-long", limit="131,072 characters"),
        text(lambda t: t.replace("Lima", "L" * 200_000, 1)),
    ),
    Case(
        "a very long line",
        TRAIN,
        Refusal("csv-wrong-value-count", values="300,008 values", line=4, columns=8),
        text(lambda t: t.replace("Lima", "Lima" + ",x" * 300_000, 1)),
    ),
    Case(
        "duplicate headers",
        TRAIN,
        Refusal("duplicate-column-names", columns="'age'"),
        text(lambda t: t.replace("city", "age", 1)),
    ),
    Case(
        "no header",
        TRAIN,
        Refusal("unknown-column", column="income", file="own.csv"),
        text(lambda t: t.split("\n", 1)[1]),
    ),
    Case(
        "quotes never closed",
        TRAIN,
        Refusal("csv-quote-not-closed", file="own.csv"),
        text(lambda t: t.replace("Lima", '"Lima', 1)),
    ),
    Case(
        "ragged rows",
        TRAIN,
        Refusal("csv-wrong-value-count", values="9 values", line=4, columns=8),
        text(lambda t: t.replace("Lima", "Lima,more", 1).replace("Oslo", '"Oslo,"', 1)),
    ),
    Case(
        "a row that is too short",
        TRAIN,
        Refusal("csv-wrong-value-count", values="7 values", line=2, columns=8),
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
        Refusal("table-options-without-table", options="--target, --bias, --drop, --split"),
        write("own.xlsx", b"PK"),
    ),
    # Its columns.
    Case(
        "a target that is not there",
        ["train", "own.csv", "--target", "incom", *TRAIN[4:]],
        Refusal("unknown-column", column="incom", file="own.csv", advice="Nearest: income."),
    ),
    Case(
        "a constant target",
        TRAIN,
        Refusal("target-has-one-value", target="Target 'income'", value="low"),
        table({"income": ["low"] * N}),
    ),
    Case(
        "a target inside the bias",
        ["train", "own.csv", "--target", "income", "--bias", "gender,income"],
        Refusal("target-is-bias", column="income"),
    ),
    Case(
        "a column twice in --bias",
        ["train", "own.csv", "--target", "income", "--bias", "gender,gender"],
        Refusal("column-named-twice", column="gender"),
    ),
    Case(
        "no target known",
        TRAIN,
        Refusal("target-missing-everywhere", column="income", file="own.csv"),
        table({"income": [None] * N}),
    ),
    Case(
        "no bias known",
        TRAIN,
        Refusal("bias-missing-everywhere", bias="Bias 'gender'"),
        table({"gender": [None] * N}),
    ),
    Case(
        "a bias of one value for a method that needs two",
        ["csad" if word == "vanilla" else word for word in TRAIN],
        Refusal("bias-has-one-value", names="gender"),
        table({"gender": ["f"] * N}),
    ),
    Case(
        "mixed types",
        TRAIN,
        Refusal("text-in-number-column", column="age", file="own.csv", value="'unknown' in line 81"),
        table(MIXED),
    ),
    Case(
        "a million categories",
        ["train", "own.csv", "--target", "income", "--bias", "gender", "--out", "new"],
        Refusal("too-many-label-values", label="Target 'income'", kind="words"),
        a_million_words,
    ),
    Case(
        "a target of dates",
        TRAIN,
        Refusal("label-holds-dates", label="Target 'income'"),
        table({"income": [f"2020-01-{1 + k % 28:02d}" for k in range(N)]}),
    ),
    Case(
        "a bias of many numbers",
        ["train", "own.csv", "--target", "income", "--bias", "hours"],
        Refusal("bias-needs-bins", column="hours"),
        table({"hours": [k + 0.5 for k in range(N)]}),
    ),
    Case(
        "nothing left to learn from",
        TRAIN,
        Refusal("no-input-columns", file="own.csv"),
        table(without=("age", "city", "hours")),
    ),
    Case(
        "a group that is unknown in some rows",
        [*BARE, "--group", "city"],
        Refusal("group-missing-in-rows", column="city", file="own.csv", missing=1),
    ),
    Case("a group that is the target", [*BARE, "--group", "income"], Refusal("target-is-group", column="income")),
    Case(
        "a group that is in two splits",
        [*BARE, "--split", "fold", "--group", "city", "--drop", "who,family"],
        Refusal("group-in-two-splits", group="Group 'Rome'", column="city"),
        table({"city": ["Rome"] * N}),
    ),
    Case(
        "an unknown word in the split",
        TRAIN,
        Refusal("unknown-split-value", allowed="train, validation or test (column 'fold' of own.csv)", value="holdout"),
        table({"fold": ["holdout", *PEOPLE["fold"][1:]]}),
    ),
    Case(
        "a split without training rows",
        TRAIN,
        Refusal("split-without-training-rows", column="fold"),
        table({"fold": ["test"] * N}),
    ),
    Case(
        "a split that some rows lack",
        TRAIN,
        Refusal("split-missing-in-rows", missing=1),
        table({"fold": [None, *PEOPLE["fold"][1:]]}),
    ),
    # Predicting.
    Case(
        "a file to predict for that lacks a column",
        PREDICT,
        Refusal("unknown-column", column="age", file="own.csv"),
        table(without=("age",)),
    ),
    Case("an empty file to predict for", PREDICT, Refusal("csv-file-empty", file="own.csv"), write("own.csv", "")),
    Case(
        "a header to predict for",
        PREDICT,
        Refusal("file-without-rows", file="own.csv"),
        text(lambda t: t.splitlines()[0]),
    ),
    Case(
        "words for numbers to predict for",
        PREDICT,
        Refusal("column-kind-changed", column="age", file="own.csv", expected="numbers"),
        table({"age": ["old"] * N}),
    ),
    Case(
        "dates for words to predict for",
        PREDICT,
        Refusal("column-kind-changed", column="city", file="own.csv", expected="Lima, Oslo, Rome", found="dates"),
        table({"city": ["2020-01-02"] * N}),
    ),
    Case(
        "an id that is not there",
        [*PREDICT, "--id", "whom"],
        Refusal("unknown-column", column="whom", file="own.csv", advice="Nearest: who."),
    ),
    Case(
        "predictions over what is read",
        [*PREDICT, "--out", "own.csv", "--force"],
        Refusal("out-is-input", file="own.csv"),
    ),
    Case(
        "predictions over another file",
        [*PREDICT, "--out", "kept.csv"],
        Refusal("out-file-exists", file="kept.csv"),
        write("kept.csv", "mine"),
    ),
    Case(
        "predictions into no folder", [*PREDICT, "--out", "no/new.csv"], Refusal("out-path-invalid", file="no/new.csv")
    ),
    Case(
        "arrays of Python objects",
        ["predict", "run", "own.npz"],
        Refusal("invalid-npz-file", problem="holds Python objects"),
        pickled,
    ),
    # Run folders.
    Case(
        "a folder that is no run",
        ["audit", "of"],
        Refusal("run-config-missing", folder="of"),
        lambda f: (f / "of").mkdir(),
    ),
    Case("a table for a run", ["audit", "own.csv"], Refusal("run-config-missing", folder="own.csv")),
    Case(
        "an export without weights", EXPORT, Refusal("weights-not-kept", folder="run"), lambda f: (f / STATE).unlink()
    ),
    Case("an audit without weights", AUDIT, Refusal("weights-not-kept", folder="run"), lambda f: (f / STATE).unlink()),
    Case(
        "a table that has changed",
        AUDIT,
        Refusal("training-rows-changed"),
        text(lambda t: t.replace("high", "low", 3)),
    ),
    Case(
        "a table that has gone",
        AUDIT,
        Refusal("training-file-not-found", name="own.csv"),
        lambda f: (f / "own.csv").unlink(),
    ),
    Case("a table of other columns", AUDIT, Refusal("unknown-column", column="family"), table(without=("family",))),
    Case(
        "a run of another version",
        AUDIT,
        Refusal(
            "run-config-invalid", reason="'settings'", version=re.compile(rf"csad 9\.0.*csad {re.escape(__version__)}")
        ),
        text(lambda t: t.replace(f'csad = "{__version__}"', 'csad = "9.0"').replace("[settings]", "[ways]"), CONFIG),
    ),
    Case(
        "a run with settings of another version",
        AUDIT,
        Refusal("run-config-invalid", reason=re.compile("'perceiver'"), version=re.compile(r"csad 9\.0")),
        text(lambda t: t.replace(f'csad = "{__version__}"', 'csad = "9.0"').replace('"mlp"', '"perceiver"'), CONFIG),
    ),
    Case(
        "a checkpoint of another version",
        AUDIT,
        Refusal("checkpoint-other-version", file=STATE),
        weights(lambda tensors: None, format="csad-checkpoint-0"),
    ),
    Case("a checkpoint with a tensor renamed", AUDIT, Refusal("checkpoint-unreadable", file=STATE), weights(renamed)),
    Case(
        "a checkpoint with a tensor reshaped",
        PREDICT,
        Refusal("checkpoint-unreadable", reason=re.compile(r"\(64, 5\), not \(64, 6\)")),
        weights(reshaped),
    ),
    Case("a checkpoint that is not of numbers", PREDICT, Refusal("weights-not-finite", file=STATE), weights(spoiled)),
    Case(
        "a checkpoint cut short",
        EXPORT,
        Refusal("checkpoint-unreadable", file=STATE),
        lambda f: (f / STATE).write_bytes((f / STATE).read_bytes()[:999]),
    ),
    Case(
        "a pickle for a checkpoint",
        PREDICT,
        Refusal("checkpoint-unreadable", file=STATE),
        write(STATE, b"\x80\x04\x95cposix\nsystem\n"),
    ),
    Case(
        "a preparation that is no JSON",
        PREDICT,
        Refusal("run-file-unreadable", file=PREPARATION),
        write(PREPARATION, "{"),
    ),
    Case(
        "a preparation that is a list",
        PREDICT,
        Refusal("preparation-damaged", inputs="table"),
        write(PREPARATION, "[]"),
    ),
    Case(
        "a preparation of another version",
        PREDICT,
        Refusal("preparation-damaged", reason="its version is 99, not 1"),
        prepared(lambda values: values.update(version=99)),
    ),
    Case(
        "a preparation of another column",
        PREDICT,
        Refusal("unknown-column", column="agee", file="own.csv", advice="Nearest: age."),
        prepared(swapped),
    ),
    Case(
        "a preparation of an unknown kind",
        PREDICT,
        Refusal("preparation-damaged", reason="the kind of 'age' is 'picture'"),
        prepared(unkind),
    ),
    Case(
        "a preparation without numbers",
        PREDICT,
        Refusal("preparation-damaged", reason="its mean is 'forty'"),
        prepared(numberless),
    ),
    Case(
        "a preparation that lacks a column",
        PREDICT,
        Refusal("preparation-width-mismatch", columns=5, expected=6),
        prepared(fewer),
    ),
    Case(
        "a preparation with another number",
        PREDICT,
        Refusal("preparation-changed", file=PREPARATION),
        text(lambda t: t.replace('"fill": 48.0', '"fill": 50.0'), PREPARATION),
    ),
    Case(
        "an audit with another preparation",
        AUDIT,
        Refusal("preparation-changed", file=PREPARATION),
        text(lambda t: t.replace('"Oslo"', '"Bonn"'), PREPARATION),
    ),
    Case(
        "no preparation", PREDICT, Refusal("model-takes-no-table", file="own.csv"), lambda f: (f / PREPARATION).unlink()
    ),
    # Where a run is to go.
    Case("a file as --out", [*TRAIN[:-1], "own.csv"], Refusal("folder-not-a-run", path="own.csv")),
    Case(
        "a folder of others as --out",
        [*TRAIN[:-1], "of"],
        Refusal("folder-not-a-run", path="of"),
        lambda f: [(f / "of").mkdir(), (f / "of" / "a").touch()],
    ),
    Case(
        "a run as --out, before data are read",
        ["train", "gone.csv", *TRAIN[2:-1], "run"],
        Refusal("run-exists-already", folder="run"),
    ),
    Case("a run as --out", [*TRAIN[:-1], "run"], Refusal("run-exists-already", folder="run")),
    Case(
        "--out below a file",
        [*TRAIN[:-1], "own.csv/new"],
        Refusal("out-not-writable", file="own.csv/new", reason="Not a directory"),
    ),
    Case("--out where nobody may write", [*TRAIN[:-1], "/proc/new"], Refusal("out-not-writable", file="/proc/new")),
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
        Refusal("group-has-no-effect", column="family"),
        table(UNIQUE),
        works=True,
    ),
    Case(
        "a column that is the same everywhere",
        TRAIN,
        Refusal("column-not-used", column="city", reason=re.compile("same value")),
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
        Refusal("values-unknown-to-model", column="city", rows=80),
        table({"city": ["Bonn"] * N}),
        works=True,
    ),
]
