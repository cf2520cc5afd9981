"""Numbers for people: plain arrays come in, pictures, plots and one self-contained HTML page go out."""

from __future__ import annotations

from csad.report.page import Contestant, Probe, demo_page

__all__ = ["Contestant", "Probe", "demo_page"]
