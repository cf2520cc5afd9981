"""Where (x, y, b) come from: data sets by name, own arrays and files, and Ω, the pairs that share a bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.data.arrays import from_arrays as from_arrays
    from csad.data.arrays import from_npz as from_npz
    from csad.data.own.dataset import TableDataset as TableDataset
    from csad.data.own.from_files import from_pictures as from_pictures
    from csad.data.own.from_files import from_series as from_series
    from csad.data.own.from_files import from_table as from_table
    from csad.data.pairs import Related as Related
    from csad.data.pairs import near_bias as near_bias
    from csad.data.pairs import of_one_class as of_one_class
    from csad.data.pairs import same_bias as same_bias
    from csad.data.pairs import same_sample as same_sample
    from csad.data.samples import Batch as Batch
    from csad.data.samples import Classes as Classes
    from csad.data.samples import Dataset as Dataset
    from csad.data.samples import Number as Number
    from csad.data.samples import Samples as Samples
    from csad.data.samples import Task as Task

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Batch": "csad.data.samples.Batch",
        "Classes": "csad.data.samples.Classes",
        "Dataset": "csad.data.samples.Dataset",
        "Number": "csad.data.samples.Number",
        "Related": "csad.data.pairs.Related",
        "Samples": "csad.data.samples.Samples",
        "TableDataset": "csad.data.own.dataset.TableDataset",
        "Task": "csad.data.samples.Task",
        "from_arrays": "csad.data.arrays.from_arrays",
        "from_npz": "csad.data.arrays.from_npz",
        "from_pictures": "csad.data.own.from_files.from_pictures",
        "from_series": "csad.data.own.from_files.from_series",
        "from_table": "csad.data.own.from_files.from_table",
        "near_bias": "csad.data.pairs.near_bias",
        "of_one_class": "csad.data.pairs.of_one_class",
        "same_bias": "csad.data.pairs.same_bias",
        "same_sample": "csad.data.pairs.same_sample",
    },
)
