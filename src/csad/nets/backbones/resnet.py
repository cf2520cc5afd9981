"""ResNet-18 for photographs (He et al., CVPR 2016), its weights named as torchvision names them."""

from __future__ import annotations

from torch import Tensor, nn

from csad.errors import InputError
from csad.nets.layers import FreezableBatchNorm, ImageNetPixels, at_least_one, image
from csad.nets.weights import take_weights
from csad.registry import BACKBONES

WIDTHS = (64, 128, 256, 512)  # of the four groups of blocks
STEMS = ("large", "small")


@BACKBONES.register("resnet18")
def resnet18(
    shape: tuple[int, ...],
    features: int = 256,
    last_relu: bool = True,
    stem: str = "large",
    weights: str = "",
    batch_norm: str = "auto",
) -> nn.Module:
    """ResNet-18 with a layer of 256 features (0: none) in place of its classes, the paper's net for photographs.

    Args:
        shape: (channels, height, width).
        features: Width of the last layer; 0: none.
        last_relu: Whether a ReLU follows that layer.
        stem: ``large``, or ``small`` for small images: 3 × 3, no stride, no pooling.
        weights: A file of ImageNet weights, .pth or .safetensors; pixels are then put on its scale.
        batch_norm: ``frozen``, ``learns``, or ``auto``: frozen with such weights, as in the paper; else it learns in
            the first stage that moves F.
    """
    channels, *_ = image(shape)
    at_least_one(features=features or 1)
    if stem not in STEMS:
        raise InputError("unknown-stem", known=STEMS, stem=stem)
    net = ResNet(channels, features, last_relu, stem)
    if weights:
        take_weights(net, weights, left_out=("fc.",), fresh=("last.",))
        net.pixels = ImageNetPixels()
    net.set_batch_norm(batch_norm, pretrained=bool(weights))
    return net


class ResNet(FreezableBatchNorm):
    """Four groups of two blocks, each group but the first at half the sides and twice the width, then the mean."""

    def __init__(self, channels: int, features: int, last_relu: bool, stem: str) -> None:
        super().__init__()
        large = stem == "large"
        self.pixels: nn.Module = nn.Identity()
        self.conv1 = _conv(channels, WIDTHS[0], kernel=7 if large else 3, stride=2 if large else 1)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        self.pool = nn.MaxPool2d(3, stride=2, padding=1) if large else nn.Identity()
        self.layer1 = _blocks(WIDTHS[0], WIDTHS[0], stride=1)
        self.layer2 = _blocks(WIDTHS[0], WIDTHS[1], stride=2)
        self.layer3 = _blocks(WIDTHS[1], WIDTHS[2], stride=2)
        self.layer4 = _blocks(WIDTHS[2], WIDTHS[3], stride=2)
        self.last = nn.Linear(WIDTHS[3], features) if features else nn.Identity()
        # D is linear: without a ReLU before it the last layer and D would be one linear layer.
        self.bend = nn.ReLU() if features and last_relu else nn.Identity()
        _initialize(self)

    def forward(self, x: Tensor) -> Tensor:
        """h (n, features)."""
        x = self.pool(self.bn1(self.conv1(self.pixels(x))).relu())
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        h: Tensor = self.bend(self.last(x.mean((2, 3))))
        return h


class ResidualBlock(nn.Module):
    """relu(x + two convolutions of x), with x through a 1 × 1 convolution if the shape changes."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _conv(channels, width, kernel=3, stride=stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = _conv(width, width, kernel=3, stride=1)
        self.bn2 = nn.BatchNorm2d(width)
        changed = (channels, stride) != (width, 1)
        shrink = (_conv(channels, width, kernel=1, stride=stride), nn.BatchNorm2d(width)) if changed else ()
        self.downsample = nn.Sequential(*shrink)

    def forward(self, x: Tensor) -> Tensor:
        """(n, width, height / stride, width / stride)."""
        within = self.bn1(self.conv1(x)).relu()
        total: Tensor = self.bn2(self.conv2(within)) + self.downsample(x)
        return total.relu()


def _conv(channels: int, width: int, kernel: int, stride: int) -> nn.Conv2d:
    return nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False)


def _blocks(channels: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(ResidualBlock(channels, width, stride), ResidualBlock(width, width, 1))


def _initialize(net: nn.Module) -> None:
    """He's weights, by fan out as in torchvision; BatchNorm starts at 1 and 0 by default."""
    for layer in net.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
