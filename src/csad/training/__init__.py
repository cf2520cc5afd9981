"""Runs a schedule: one mini-batch through all updates, stages, epochs, log, checkpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.training.device import ComputeSettings as ComputeSettings
    from csad.training.device import choose_device as choose_device

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "ComputeSettings": "csad.training.device.ComputeSettings",
        "choose_device": "csad.training.device.choose_device",
    },
)
