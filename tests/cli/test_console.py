"""What reaches a terminal: names out of files move no cursor, set no title and forge no line of csad's."""

from __future__ import annotations

import ast
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from csad.cli.console import Console
from csad.printable import printable
from tests.support.commands import python, typed
from tests.support.paths import SOURCE
from tests.support.people_tables import PEOPLE, SHORT, write_people

CLI = SOURCE / "cli"
# Sets the title, clears the screen, writes to the clipboard, begins a sequence in one byte, turns what follows around.
WILD = "\x1b]0;owned\x07\x1b[2J\x1b]52;c;cm0gLXJm\x07\x9b31m\u202etxt"
HIGH, GENDER, CITY = f"high{WILD}\ncsad: all is well\rlow", f"gender{WILD}", f"Rome{WILD}"
# What a terminal may be sent: all but control characters, line ends apart.
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def wild(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose classes, groups, categories and columns are called so, and a run on it."""
    place = tmp_path_factory.mktemp("wild")
    changes = {
        "income": [HIGH if value == "high" else value for value in PEOPLE["income"]],
        GENDER: PEOPLE["gender"],
        "city": [CITY if value == "Rome" else value for value in PEOPLE["city"]],
    }
    write_people(place / "people.csv", changes, without=["gender"])
    roles = ["--target", "income", "--bias", GENDER, "--split", "fold", "--drop", "who,family"]
    made = typed("train", str(place / "people.csv"), *roles, *SHORT, "--out", str(place / "run"))
    assert made.exit_code == 0, made.stderr
    assert_plain(made.output)
    assert "gender\\x1b]0;owned\\x07" in made.output
    assert "\ncsad: all is well" not in made.output
    return place


def assert_plain(text: str) -> None:
    assert not FORBIDDEN.findall(text)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "run"],
        ["audit", "run"],
        ["report", "run", "--out", "page.html"],
        ["export", "run", "--out", "run.onnx", "--no-data"],
        ["predict", "run", "people.csv", "--out", "p.csv"],
        ["predict", "run", "people.csv", "--out", "p.csv", "--id", f"no{WILD}"],
        ["audit", "run", "--split", f"no{WILD}"],
        ["train", "people.csv", "--target", f"no{WILD}"],
        [f"no{WILD}"],
        ["evaluate", f"no{WILD}"],
    ],
    ids=lambda words: "-".join(words).partition("\x1b")[0],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["plain", "json"])
def test_names_out_of_files_are_written_out(
    wild: Path, words: list[str], as_json: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("people.csv", "run"):
        (tmp_path / name).symlink_to(wild / name)
    monkeypatch.chdir(tmp_path)
    said = in_a_terminal([*words, *(as_json if len(words) > 1 else [])])
    assert_plain(re.sub(r"\x1b\[[\d;]*m", "", said).replace("\r\n", "\n"))  # but for the bold letters of a table
    assert "owned" not in said.splitlines()


def test_the_bar_of_a_training_shows_the_name_of_a_file_as_it_is(
    wild: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"x[red]{WILD}.csv").symlink_to(wild / "people.csv")
    roles = ["--target", "income", "--bias", GENDER, "--split", "fold", "--drop", "who,family"]
    said = in_a_terminal(["train", f"x[red]{WILD}.csv", *roles, *SHORT, "--out", "run"])
    assert "x[red]\\x1b]0;owned" in said
    assert "\x1b]" not in said  # the bar itself moves the cursor, but sets no title
    assert "\x9b" not in said


def test_an_exported_file_says_nothing_by_its_runtime(
    wild: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnx = pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").symlink_to(wild / "people.csv")
    made = typed("export", str(wild / "run"), "--out", "model.onnx", "--no-data")
    assert made.exit_code == 0, made.stderr
    model = onnx.load("model.onnx")
    model.graph.initializer.append(onnx.helper.make_tensor(f"{WILD}\ncsad: all is well", 1, [1], [0.0]))
    onnx.save(model, "model.onnx")
    said = in_a_terminal(["predict", "model.onnx", "people.csv", "--out", "p.csv", "--quiet"])
    assert (tmp_path / "p.csv").exists()
    assert "owned" not in said.replace("\\x1b]0;owned", "")  # but for the names of classes, written out
    assert "\x1b]" not in said


FAILING = """
from csad.cli import app, main

@app.command()
def fail() -> None:
    try:
        raise KeyError({wild!r})
    except KeyError as error:
        raise RuntimeError({wild!r}) from error

main()
"""


def test_an_error_that_csad_did_not_expect_has_a_traceback_and_no_forged_line(tmp_path: Path) -> None:
    wild = f"{WILD}\ncsad: all is well"
    (tmp_path / "failing.py").write_text(FAILING.format(wild=wild), encoding="utf-8")
    done = python("-P", str(tmp_path / "failing.py"), "fail")
    assert done.returncode == 1
    assert_plain(done.stderr)
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines.count("Traceback (most recent call last):") == 2
    assert lines[-1].startswith("RuntimeError: \\x1b]0;owned\\x07")
    assert lines[-1].endswith("txt\\ncsad: all is well")
    assert any(line.startswith("KeyError: ") for line in lines)
    assert "csad: all is well" not in lines


def in_a_terminal(words: list[str]) -> str:
    """All that a terminal is sent by the command."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-P", "-c", "from csad.cli import main; main()", *words]
    program = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=os.environ | {"TERM": "xterm"})
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:  # how Linux says that the other side is closed
        pass
    finally:
        os.close(ours)
    assert program.wait(120) in (0, 2)
    return said.decode()


def test_what_is_written_out_can_be_told_apart_and_letters_stay() -> None:
    assert printable("Zoë\t日本\x1b[31m\x85\u202e") == "Zoë\\t日本\\x1b[31m\\x85\\u202e"
    assert printable("\u200f\u061c\ufeff\U000e0041\u200b") == "\\u200f\\u061c\\ufeff\\U000e0041\\u200b"
    assert printable("σ² = .02 · naïve – “yes” 🙂 👩\u200d🔬") == "σ² = .02 · naïve – “yes” 🙂 👩\u200d🔬"
    assert printable("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_a_table_shows_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    Console(as_json=False, quiet=False).table("T \x1b[2J", ["a\x07", "b"], [["[red]x[/red] :warning:", "\x9b1m"]])
    shown = capsys.readouterr().out
    assert "T \\x1b[2J" in shown
    assert "a\\x07" in shown
    assert "[red]x[/red] :warning:" in shown
    assert "\\x9b1m" in shown


def test_all_that_is_printed_goes_through_the_console() -> None:
    for path in CLI.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name in ("print", "typer.echo", "typer.secho", "click.echo", "sys.stdout.write", "sys.stderr.write"):
                assert path.name == "console.py", f"{path.name} prints by {name}: use echo, of console.py"
