"""Any preparation from what a run or an exported file keeps of it; only what it needs is imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from csad.data.tables.preparation import Preparation

if TYPE_CHECKING:
    from csad.data.tables.pictures import PicturePreparation
    from csad.data.tables.series import SeriesPreparation

AnyPreparation: TypeAlias = "Preparation | PicturePreparation | SeriesPreparation"
FilePreparation: TypeAlias = "PicturePreparation | SeriesPreparation"  # of files that a column names


def preparation_from(values: Any) -> AnyPreparation:
    """The preparation of whatever kind that ``to_dict`` gave."""
    kinds = values if isinstance(values, dict) else {}
    if "pictures" in kinds:
        from csad.data.tables.pictures import PicturePreparation

        return PicturePreparation.from_dict(values)
    if "series" in kinds:
        from csad.data.tables.series import SeriesPreparation

        return SeriesPreparation.from_dict(values)
    if "wide" in kinds:
        from csad.data.tables.wide_series import WideSeries

        return WideSeries.from_dict(values)
    return Preparation.from_dict(values)
