"""Events of work on data go to one listener, kind by kind."""

from __future__ import annotations

import contextvars
import sys
import warnings

import pytest

from csad.data import events


class OddRows(UserWarning):
    """A notice."""


@pytest.mark.parametrize("terminal", [True, False])
def test_by_default_progress_is_shown_in_a_terminal_alone(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(events, "EVERY", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    contextvars.Context().run(events.Progress("Counting", 2000).report, 1000)
    shown = capsys.readouterr()
    assert shown.err == ("Counting: 1,000 of 2,000\n" if terminal else "")
    assert shown.out == ""


def give_notice() -> None:
    events.report_notice(OddRows("Two rows are odd."))


def test_by_default_a_notice_is_a_warning_of_python_at_the_place_of_the_call() -> None:
    with pytest.warns(OddRows, match=r"^Two rows are odd\.$") as caught:
        give_notice()
    assert caught[0].filename == __file__


def test_a_listener_takes_its_kinds_of_events_and_leaves_the_others_where_they_went() -> None:
    lines: list[str] = []
    notices: list[Warning] = []
    tables: list[object] = []
    with events.listening(progress=lines.append, notice=notices.append), warnings.catch_warnings():
        warnings.simplefilter("error")
        with events.listening(table=tables.append):
            events.report_table("people")
            events.report_progress("Half of it")
            give_notice()
        events.report_table("more people")
    assert (lines, [str(notice) for notice in notices], tables) == (["Half of it"], ["Two rows are odd."], ["people"])


def test_listening_ends_with_its_block_even_by_an_error() -> None:
    tables: list[object] = []
    with pytest.raises(ValueError, match="broken"), events.listening(table=tables.append):
        raise ValueError("broken")
    events.report_table("people")
    assert tables == []


def test_an_unknown_kind_of_event_is_an_error() -> None:
    with pytest.raises(TypeError, match="tabel"), events.listening(tabel=print):
        pass
