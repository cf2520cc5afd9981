"""F, D and P: the parts of the network, by letter, from plain sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from csad.lazy import lazy_names

if TYPE_CHECKING:
    from csad.nets.backbones.conv import conv as conv
    from csad.nets.backbones.conv import small_conv as small_conv
    from csad.nets.backbones.efficientnet import efficientnet_lite0 as efficientnet_lite0
    from csad.nets.backbones.mlp import mlp as mlp
    from csad.nets.backbones.resnet import resnet18 as resnet18
    from csad.nets.backbones.tcn import tcn as tcn
    from csad.nets.parts import Nets as Nets
    from csad.nets.parts import Sizes as Sizes

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "Nets": "csad.nets.parts.Nets",
        "Sizes": "csad.nets.parts.Sizes",
        "conv": "csad.nets.backbones.conv.conv",
        "efficientnet_lite0": "csad.nets.backbones.efficientnet.efficientnet_lite0",
        "mlp": "csad.nets.backbones.mlp.mlp",
        "resnet18": "csad.nets.backbones.resnet.resnet18",
        "small_conv": "csad.nets.backbones.conv.small_conv",
        "tcn": "csad.nets.backbones.tcn.tcn",
    },
)
