"""The real files of people who tap, where they are, and small ones in mPower's formats."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from tests.support.real_data import root_of

RESULTS = "tapping_results.json."


def real(name: str) -> Path:
    """The file of that name; a test that asks for it is skipped where it is not here."""
    return root_of(name, "parkinson", name) / "parkinson" / name


def tap(time: Any = 1.5, button: Any = "Left", place: Any = "{10.5, 20}") -> dict[str, Any]:
    return {"TapTimeStamp": time, "TappedButtonId": f"TappedButton{button}", "TapCoordinate": place}


def tap_items(count: int = 6, start: float = 0.0) -> list[dict[str, Any]]:
    """A record's taps, left and right in turn."""
    return [tap(start + k / 5, ("Left", "Right")[k % 2], f"{{{100 + 90 * (k % 2)}, {400 + k}}}") for k in range(count)]


def write_csv(path: Path, rows: list[dict[str, Any]], encoding: str = "utf-8") -> None:
    with path.open("w", encoding=encoding, newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class Folder:
    """A folder in mPower's layout that grows person by person and record by record."""

    def __init__(self, root: Path) -> None:
        self.path = root / "mpower"
        self.people: list[dict[str, Any]] = []
        self.records: list[dict[str, Any]] = []

    def person(self, code: str, age: Any = 60, diagnosis: Any = "true") -> None:
        self.people.append({"ROW_ID": 1, "healthCode": code, "age": age, "professional-diagnosis": diagnosis})

    def record(self, code: str, items: Any = None, *, file: str = "", **other: Any) -> None:
        """A record of the person; ``items`` are its taps, or the text of its file."""
        handle = 5_000_000 + len(self.records)
        path = self.path / "tapping" / (file or "{}.json").format(handle)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(items if isinstance(items, str) else json.dumps(tap_items() if items is None else items))
        row = {"recordId": f"r{handle}", "healthCode": code, "createdOn": 1_425_859_200_000 + len(self.records)}
        row |= {
            f"{RESULTS}ButtonRect{side}": f"{{{{{x}, 390}}, {{104, 104}}}}"
            for side, x in (("Left", 50), ("Right", 180))
        }
        self.records.append({**row, f"{RESULTS}TappingSamples": handle, **other})

    def write(self, encoding: str = "utf-8") -> Path:
        """The data root, once the tables are written."""
        write_csv(self.path / "demographics.csv", self.people, encoding)
        write_csv(self.path / "tapping.csv", self.records, encoding)
        return self.path.parent
