"""How pictures that a table names become x: kept with the run, so that other pictures become x in the same way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from csad.data.images import TOLERATED, ImageWarning, read_parts
from csad.data.tables.columns import Table
from csad.data.tables.file_columns import FileRows, broken_notices, file_names
from csad.data.tables.preparation import VERSION, Unit, read_back
from csad.errors import InputError


@dataclass(frozen=True)
class PicturePreparation:
    """The ``column`` that names pictures, and how large they are made once ``crop`` is cut out of the centre.

    ``target`` is the unit of a target that is a number.
    """

    what: ClassVar[str] = "picture"
    column: str
    size: int
    crop: tuple[float, ...] = (1.0,)
    target: Unit = field(default_factory=Unit)

    def told(self) -> str:
        """What x is, in words."""
        return f"pictures of {self.size} × {self.size} pixels"

    def names(self, table: Table) -> list[str]:
        """The path of each row's picture, empty where none is named."""
        return file_names(table, self.column)

    def read(
        self, images: Path, parts: Mapping[str, Sequence[str]], tolerated: float = TOLERATED
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The pictures of several lists of paths inside a folder or archive, and a sentence on those that are broken.

        A path that leads out of it, one that is not there, and more broken pictures than ``tolerated`` are errors.
        """
        if not images.exists():
            raise InputError(f"The pictures {images} are not there: give --images FOLDER, or a .zip or .tar file.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ImageWarning)  # it is told as a notice
            found = read_parts(images, parts, size=self.size, crop=self.crop, tolerated=tolerated)
        broken = tuple(name for part in found.values() for name in part.broken)
        return {name: FileRows(*part) for name, part in found.items()}, broken_notices(broken, self.what, "pictures")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {"version": VERSION, "pictures": asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PicturePreparation:
        """The preparation that ``to_dict`` gave, from JSON or as it is."""
        with read_back(values, "pictures"):
            told = dict(values["pictures"])
            made = cls(told["column"], int(told["size"]), tuple(told["crop"]), Unit(**told["target"]))
        return made
