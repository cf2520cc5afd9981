"""Figures as the paper prints them: three digits, no zero before the point."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

MISSING = "–"  # no figure


def rounded(value: float) -> Decimal:
    """The value at three digits, the paper's precision: a half goes away from zero, as one rounds by hand.

    Twelve digits first, since fmean makes .9424999999999999 of .942 and .943.
    """
    return Decimal(f"{value:.12f}").quantize(Decimal("0.001"), ROUND_HALF_UP)


def figure(value: Decimal) -> str:
    """``.957`` for 0.957, ``1.000`` for 1."""
    return ("−" if value < 0 else "") + _three_digits(value)


def spelled(value: float) -> str:
    """``.957`` for 0.9571."""
    return figure(rounded(value))


def signed(value: float) -> str:
    """``+.031`` for 0.031, ``−1.200`` for -1.2; a little below 0 it is ``−.000``, and not above."""
    return ("−" if value < 0 else "+") + _three_digits(value)


def _three_digits(value: float | Decimal) -> str:
    return f"{abs(value):.3f}".removeprefix("0")
