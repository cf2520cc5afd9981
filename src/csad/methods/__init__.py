"""Methods: each declares what moves, downhill on what, how often. Everything else is derived (see ``training``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.methods.alvi import Alvi as Alvi
    from csad.methods.cocl import Cocl as Cocl
    from csad.methods.csad import Csad as Csad
    from csad.methods.group_dro import GroupDro as GroupDro
    from csad.methods.kim import Kim as Kim
    from csad.methods.lff import LearningFromFailure as LearningFromFailure
    from csad.methods.method import TARGET_BRANCH as TARGET_BRANCH
    from csad.methods.method import Assign as Assign
    from csad.methods.method import Course as Course
    from csad.methods.method import Encoded as Encoded
    from csad.methods.method import Method as Method
    from csad.methods.method import Stage as Stage
    from csad.methods.method import Update as Update
    from csad.methods.pieces.terms import as_inputs as as_inputs
    from csad.methods.pieces.terms import bias_columns as bias_columns
    from csad.methods.pieces.terms import bias_loss as bias_loss
    from csad.methods.pieces.terms import confusion as confusion
    from csad.methods.pieces.terms import entropy as entropy
    from csad.methods.pieces.terms import fell_to_chance as fell_to_chance
    from csad.methods.pieces.terms import known_labels as known_labels
    from csad.methods.pieces.terms import known_mean as known_mean
    from csad.methods.pieces.terms import label_loss as label_loss
    from csad.methods.pieces.terms import recent as recent
    from csad.methods.pieces.terms import steps as steps
    from csad.methods.project import Project as Project
    from csad.methods.ragonesi import Ragonesi as Ragonesi
    from csad.methods.reweigh import Reweigh as Reweigh
    from csad.methods.sensei import Sensei as Sensei
    from csad.methods.sensr import Sensr as Sensr
    from csad.methods.vanilla import Vanilla as Vanilla
    from csad.methods.zhang import Zhang as Zhang

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Alvi": "csad.methods.alvi.Alvi",
        "Assign": "csad.methods.method.Assign",
        "Cocl": "csad.methods.cocl.Cocl",
        "Course": "csad.methods.method.Course",
        "Csad": "csad.methods.csad.Csad",
        "Encoded": "csad.methods.method.Encoded",
        "GroupDro": "csad.methods.group_dro.GroupDro",
        "Kim": "csad.methods.kim.Kim",
        "LearningFromFailure": "csad.methods.lff.LearningFromFailure",
        "Method": "csad.methods.method.Method",
        "Project": "csad.methods.project.Project",
        "Ragonesi": "csad.methods.ragonesi.Ragonesi",
        "Reweigh": "csad.methods.reweigh.Reweigh",
        "Sensei": "csad.methods.sensei.Sensei",
        "Sensr": "csad.methods.sensr.Sensr",
        "Stage": "csad.methods.method.Stage",
        "TARGET_BRANCH": "csad.methods.method.TARGET_BRANCH",
        "Update": "csad.methods.method.Update",
        "Vanilla": "csad.methods.vanilla.Vanilla",
        "Zhang": "csad.methods.zhang.Zhang",
        "as_inputs": "csad.methods.pieces.terms.as_inputs",
        "bias_columns": "csad.methods.pieces.terms.bias_columns",
        "bias_loss": "csad.methods.pieces.terms.bias_loss",
        "confusion": "csad.methods.pieces.terms.confusion",
        "entropy": "csad.methods.pieces.terms.entropy",
        "fell_to_chance": "csad.methods.pieces.terms.fell_to_chance",
        "known_labels": "csad.methods.pieces.terms.known_labels",
        "known_mean": "csad.methods.pieces.terms.known_mean",
        "label_loss": "csad.methods.pieces.terms.label_loss",
        "recent": "csad.methods.pieces.terms.recent",
        "steps": "csad.methods.pieces.terms.steps",
    },
)
