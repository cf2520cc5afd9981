"""M: how much h_y tells of h_b, measured across the samples of a mini-batch (Zhu et al., ICCV 2021, Eq. 1–9)."""

from csad.information.bounds.cs import cs
from csad.information.bounds.jsd import jsd
from csad.information.bounds.mine import mine
from csad.information.bounds.nce import nce
from csad.information.estimator import Estimator
from csad.information.similarity import Similarity
from csad.information.walk import graph, random_walk

__all__ = ["Estimator", "Similarity", "cs", "graph", "jsd", "mine", "nce", "random_walk"]
