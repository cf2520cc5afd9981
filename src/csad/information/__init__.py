"""M: how much h_y knows of h_b, measured across the samples of a mini-batch (Zhu et al., ICCV 2021, Eq. 1–9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.information.bounds.cs import cs as cs
    from csad.information.bounds.jsd import jsd as jsd
    from csad.information.bounds.mine import mine as mine
    from csad.information.bounds.nce import nce as nce
    from csad.information.estimator import Estimator as Estimator
    from csad.information.similarity import Similarity as Similarity
    from csad.information.walk import graph as graph
    from csad.information.walk import random_walk as random_walk

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Estimator": "csad.information.estimator.Estimator",
        "Similarity": "csad.information.similarity.Similarity",
        "cs": "csad.information.bounds.cs.cs",
        "graph": "csad.information.walk.graph",
        "jsd": "csad.information.bounds.jsd.jsd",
        "mine": "csad.information.bounds.mine.mine",
        "nce": "csad.information.bounds.nce.nce",
        "random_walk": "csad.information.walk.random_walk",
    },
)
