"""Trains ResNet-18 on CelebA's attributes, so that an experiment with faces need not begin from fresh weights.

    python benchmarks/face_weights.py --data-root CELEBA --out runs/face-weights.safetensors

The paper begins with ImageNet's weights. Whoever lacks them has these: they know faces, and were told neither gender
nor age; with ``--attributes plain`` nor what by its name goes with one of them, as a beard, make-up or grey hair. What
comes out is a file for ``--set net.weights=FILE``, and how well the attributes of images that were not trained on are
told.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from csad.data.given_files import find_given
from csad.data.samples import Dataset, Samples
from csad.data.sets.celeba import FILES, HOME
from csad.nets.layers import ImageNetPixels
from csad.registry import BACKBONES, DATASETS

GENDER_AND_AGE = ("Male", "Young")
PLAIN = (
    "Smiling", "Bangs", "Big_Lips", "Big_Nose", "Black_Hair", "Blond_Hair", "Blurry", "Brown_Hair", "Chubby",
    "Eyeglasses", "High_Cheekbones", "Mouth_Slightly_Open", "Narrow_Eyes", "Oval_Face", "Pale_Skin", "Pointy_Nose",
    "Straight_Hair", "Wavy_Hair", "Wearing_Hat",
)  # fmt: skip
KINDS = ("others", "plain")  # all but gender and age, or those that go with neither
SIZE, BATCH, RATE, DECAY = 128, 128, 1e-3, 5e-4


def all_others(data_root: Path | None) -> tuple[str, ...]:
    """The names in CelebA's list, but for gender and age."""
    (listed,) = find_given(FILES[1:2], "celeba", HOME, data_root)
    header = listed.read_text(encoding="latin-1").splitlines()[1]
    return tuple(name for name in header.split() if name not in GENDER_AND_AGE)


def answers(samples: Samples, device: torch.device) -> tuple[Tensor, Tensor]:
    """Pixels as bytes (n, 3, size, size), and 0 or 1 for each attribute (n, attributes)."""
    y = torch.cat([torch.as_tensor(samples.y)[:, None], torch.as_tensor(samples.b)], 1)
    return torch.as_tensor(samples.x).to(device), y.to(device, torch.float32)


def as_seen(x: Tensor) -> Tensor:
    """Bytes on the scale −1 … 1, on which every net here gets its pixels."""
    return x.float().div(127.5).sub(1)


def train(net: nn.Module, head: nn.Module, x: Tensor, y: Tensor, epochs: int) -> None:
    """AdamW, its rate falling to nothing along a cosine; half of the images are flipped."""
    optimiser = torch.optim.AdamW([*net.parameters(), *head.parameters()], RATE, weight_decay=DECAY)
    steps = epochs * (len(x) // BATCH)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 0.5 + 0.5 * math.cos(math.pi * step / steps))
    for epoch in range(epochs):
        total = 0.0
        order = torch.randperm(len(x), device=x.device)
        for rows in order[: len(x) // BATCH * BATCH].view(-1, BATCH):
            flipped = torch.rand(len(rows), 1, 1, 1, device=x.device) < 0.5
            pixels = as_seen(x[rows])
            with torch.autocast(x.device.type, torch.bfloat16):
                out = head(net(torch.where(flipped, pixels.flip(-1), pixels)))
            loss = binary_cross_entropy_with_logits(out.float(), y[rows])
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            scheduler.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}/{epochs}: loss {total / (len(x) // BATCH):.4f}", flush=True)


@torch.no_grad()
def accuracy(net: nn.Module, head: nn.Module, x: Tensor, y: Tensor) -> float:
    """The mean over attributes of how often each is told right."""
    told = [head(net(as_seen(x[start : start + 512]))) > 0 for start in range(0, len(x), 512)]
    return float((torch.cat(told) == (y > 0)).float().mean())


def main() -> None:
    """Trains, tells how good it is, and writes the weights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--out", type=Path, default=Path("runs/face-weights.safetensors"))
    parser.add_argument("--attributes", choices=KINDS, default=KINDS[0])
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--size", type=int, default=SIZE, help="of the images, in pixels")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(0)
    names = PLAIN if options.attributes == "plain" else all_others(options.data_root)
    faces: Dataset = DATASETS["celeba"](
        target=names[0], bias=names[1:], size=options.size, data_root=options.data_root
    )  # fmt: skip
    net = BACKBONES["resnet18"](faces.task.shape, features=0).to(device)
    net.pixels = ImageNetPixels().to(device)  # as a net sees them whose weights come from a file
    head = nn.Linear(512, len(names)).to(device)
    x, y = answers(faces.train, device)
    train(net.train(), head, x, y, options.epochs)
    net.eval()
    x, y = answers(faces.splits["test"], device)
    commonest = float(torch.maximum(y.mean(0), 1 - y.mean(0)).mean())
    print(f"accuracy {accuracy(net, head, x, y):.4f}, of the commoner answers alone {commonest:.4f}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.cpu().contiguous() for name, value in net.state_dict().items()}, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
