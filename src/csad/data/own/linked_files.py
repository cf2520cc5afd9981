"""A column whose cells name files: where these files are, and how pictures among them become x."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from csad.data.archives import TOLERATED
from csad.data.events import listening
from csad.data.images.read import read_parts
from csad.data.own.preprocessor import VERSION, FilePreprocessor, FileRows, Unit, read_back
from csad.data.tables.read_table import read_cells
from csad.data.tables.table import BLANKS, ColumnTable, named_few
from csad.errors import FilesMissing, InputError
from csad.messages import message

PLACES = ("images", "series_in")  # the settings that name the place of such files


def file_names(table: ColumnTable, column: str) -> list[str]:
    """The path of each row's file, empty if the row names none."""
    return ["" if name.lower() in BLANKS else name for name in read_cells(table, column)]


@contextmanager
def locate_files(usual: str | Path, chosen: str | Path, what: str) -> Iterator[Path]:
    """The place of the files that a table names: the chosen one, else the usual one, whose error names the option."""
    try:
        yield Path(chosen or usual)
    except FilesMissing as error:
        if chosen:
            raise
        option = "--series-in" if what == "series" else "--images"
        raise InputError("files-may-be-elsewhere", problem=str(error), option=option) from error


def broken_notices(broken: tuple[str, ...], singular: str, plural: str, why: str = "") -> list[str]:
    """A sentence on the files that are left out, if any."""
    if not broken:
        return []
    are = f"One {singular} is" if len(broken) == 1 else f"{len(broken):,} {plural} are"
    return [message("broken-files-left-out", files=are, names=named_few(broken, 3), reason=why)]


@dataclass(frozen=True)
class PicturePreprocessor(FilePreprocessor):
    """The ``column`` that names pictures; each is cut to the share ``crop`` around its centre, then made ``size``."""

    what: ClassVar[str] = "picture"
    column: str
    size: int
    crop: tuple[float, ...] = (1.0,)
    target: Unit = field(default_factory=Unit)

    def describe(self) -> str:
        """What x is, in words."""
        return f"pictures of {self.size} × {self.size} pixels"

    def names(self, table: ColumnTable) -> list[str]:
        """The path of each row's picture, empty if the row names none."""
        return file_names(table, self.column)

    def read(
        self, place: Path, parts: Mapping[str, Sequence[str]], tolerated: float = TOLERATED
    ) -> tuple[dict[str, FileRows], list[str]]:
        """The pictures of several lists of paths inside a folder or archive, and a sentence on broken ones.

        A path that leads outside, one that does not exist, and more than the share ``tolerated`` of broken pictures are
        input errors.
        """
        if not place.exists():
            raise InputError("pictures-not-found", place=place)
        with listening(notice=_ignore):  # the sentence on broken pictures replaces the notice
            images = read_parts(place, parts, size=self.size, crop=self.crop, tolerated=tolerated)
        broken = tuple(name for part in images.values() for name in part.broken)
        return {name: FileRows(*part) for name, part in images.items()}, broken_notices(broken, self.what, "pictures")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as JSON holds them."""
        return {"version": VERSION, "pictures": asdict(self)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PicturePreprocessor:
        """The preprocessor of the values that ``to_dict`` gave."""
        with read_back(values, "pictures"):
            fields = dict(values["pictures"])
            preprocessor = cls(fields["column"], int(fields["size"]), tuple(fields["crop"]), Unit(**fields["target"]))
        return preprocessor


def _ignore(notice: Warning) -> None:
    pass
