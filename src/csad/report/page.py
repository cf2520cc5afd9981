"""The page that ends a demonstration: one HTML file, all in it, for offline reading, phone and paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from csad.report import sections, words
from csad.report.contestant import Contestant, Probe
from csad.report.html import rendered
from csad.report.png import Pixels

__all__ = ["Contestant", "Probe", "demo_page"]


def demo_page(
    *,
    title: str,
    contestants: Sequence[Contestant],
    train_pictures: Pixels,
    test_pictures: Pixels,
    colors: Sequence[tuple[int, int, int]],
    classes: Sequence[str],
    facts: Mapping[str, str],
    seeds: Sequence[Mapping[str, object]] = (),
) -> str:
    """The whole page as one string that needs no script and no network; a part without numbers is left out.

    Pictures are (n, h, w, 3) uint8, best in rows of one per class; ``seeds`` are rows such as
    ``{"seed": 0, "vanilla": .41, "csad": .83}``, one for each run.
    """
    losses = {name for contestant in contestants for name in contestant.curves}
    return rendered(
        "page.html",
        ("plots.css", "page.css"),
        title=title,
        verdict=words.verdict([(contestant.name, contestant.accuracy) for contestant in contestants]),
        seed_words=words.across_seeds(seeds),
        cards=[sections.card(contestant) for contestant in contestants],
        train=sections.picture_rows(
            train_pictures, classes, "Training pictures", "Each digit has a colour of its own."
        ),
        test=sections.picture_rows(test_pictures, classes, "Test pictures", "The same digits in colours at random."),
        heat_maps=[(c.name, sections.heat_map(c, colors, classes)) for c in contestants if len(c.cells)],
        leaks=sections.leaks(contestants),
        curves=[(c.name, sections.curves(c)) for c in contestants if c.curves],
        meanings=[(name, meaning) for name, meaning in sections.MEANINGS.items() if name in losses],
        seeds=sections.seed_table(seeds) if seeds else None,
        several_seeds=len(seeds) > 1,
        facts=facts,
    )
