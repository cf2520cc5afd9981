"""Where a model looks, drawn: a map of a picture as transparent ink, which reads on light and dark paper alike."""

from __future__ import annotations

import numpy as np

from csad.report import drawing
from csad.report.drawing import WIDTH, shape
from csad.report.findings import Attention, Map
from csad.report.lines import line_chart
from csad.report.png import data_uri

INK = (38, 122, 214)  # a blue in the middle: 3 to 1 against white and against the dark paper
HALF = 0.5


def attention_map(name: str, values: Map) -> str:
    """The map (height, width) as one picture, opaque where most is looked at; its words say how gathered that is."""
    height, width = values.shape
    pixels = np.zeros((height, width, 4), np.uint8)
    pixels[..., :3] = INK
    top = values.max()
    pixels[..., 3] = np.rint(255 * values / top) if top > 0 else 0
    tall = WIDTH * height / width
    box = {"x": 0, "y": 0, "width": WIDTH, "height": tall}
    parts = [
        shape("image", href=data_uri(pixels), preserveAspectRatio="none", class_="pixels", **box),
        shape("rect", class_="edge", fill="none", **box),
    ]
    return drawing.plot(tall, parts, title=f"Where {name} looks on average", describe=gathered(name, values))


def gathered(name: str, values: Map) -> str:
    """How small a part of the picture, or of the time, holds half of what is looked at."""
    ordered = np.sort(values.reshape(-1))[::-1]
    if not ordered.sum() > 0:
        return f"{name} says the same whatever it is shown: it looks nowhere."
    share = (1 + int(np.searchsorted(np.cumsum(ordered), HALF * ordered.sum()))) / len(ordered)
    return f"Half of what {name} looks at lies in {drawing.percent(share)} of the area; evenly spread it would be 50 %."


def attention_lines(found: Attention) -> str:
    """The share of attention by time, a line for each run, summed over channels."""
    curves = {name: list(enumerate(values.sum(0).tolist())) for name, values in found.maps.items()}
    words = " ".join(gathered(name, values.sum(0)) for name, values in found.maps.items()).replace("area", "time")
    return line_chart(curves, title="When in the series the models look", describe=words, x_label="time step",
                      y_label="share of attention")  # fmt: skip
