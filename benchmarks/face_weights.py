"""Trains ResNet-18 on CelebA's attributes, so that an experiment with faces need not begin from fresh weights.

    python benchmarks/face_weights.py --data-root CELEBA --out runs/face-weights.safetensors

The paper begins with ImageNet's weights. Whoever lacks them has these: they know faces, and were told neither gender
nor age; with ``--attributes plain`` nor what by its name goes with one of them, as a beard, make-up or grey hair. What
comes out is a file for ``--set net.weights=FILE``, and how well the attributes of images that were not trained on are
told.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from csad.data import Dataset, Samples
from csad.data.datasets.celeba import FILES, HOME, attribute_names
from csad.data.local_files import find_local_files
from csad.nets.backbones.resnet import WIDTHS
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


def told_of(kind: str, data_root: Path | None) -> tuple[str, ...]:
    """The attributes that are learned."""
    if kind == "plain":
        return PLAIN
    (listed,) = find_local_files(FILES[1:2], "celeba", HOME, data_root)
    return tuple(name for name in attribute_names(listed) if name not in GENDER_AND_AGE)


def answers(samples: Samples) -> Tensor:
    """0 or 1 for each attribute (n, attributes)."""
    return torch.cat([samples.y[:, None], samples.b], 1).float()


def train(net: nn.Module, faces: Dataset, device: torch.device, epochs: int) -> None:
    """AdamW, its rate falling to nothing along a cosine; half of the images are flipped."""
    assert faces.vary is not None
    samples, truth = faces.train.to(device), answers(faces.train).to(device)
    optimizer = torch.optim.AdamW(net.parameters(), RATE, weight_decay=DECAY)
    batches = len(samples) // BATCH
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * batches)
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(samples), device=device)[: batches * BATCH].view(batches, BATCH):
            noise = torch.rand(BATCH, faces.vary.numbers, device=device)
            with torch.autocast(device.type, torch.bfloat16):
                out = net(faces.vary(faces.view(samples.x[rows]), noise))
            loss = binary_cross_entropy_with_logits(out.float(), truth[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            scheduler.step()
            total += float(loss.detach())
        print(f"epoch {epoch + 1}/{epochs}: loss {total / batches:.4f}", flush=True)


@torch.no_grad()
def accuracy(net: nn.Module, faces: Dataset, device: torch.device) -> float:
    """The mean over attributes of how often each is told right of a test image."""
    samples = faces.splits["test"].to(device)
    told = [net(faces.view(x)) > 0 for x in torch.split(samples.x, BATCH)]
    return float((torch.cat(told) == (answers(samples) > 0)).float().mean())


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
    names = told_of(options.attributes, options.data_root)
    faces: Dataset = DATASETS["celeba"](
        target=names[0], bias=names[1:], size=options.size, data_root=options.data_root
    )  # fmt: skip
    if len(faces.train) < BATCH:
        raise SystemExit(f"At least {BATCH} training images are wanted, and there are {len(faces.train)}.")
    F = BACKBONES["resnet18"](faces.task.shape, features=0)
    F.pixels = ImageNetPixels()  # as a net sees them whose weights come from a file
    net = nn.Sequential(F, nn.Linear(WIDTHS[-1], len(names))).to(device)
    train(net.train(), faces, device, options.epochs)
    commoner = answers(faces.splits["test"]).mean(0)
    alone = float(torch.maximum(commoner, 1 - commoner).mean())
    print(f"accuracy {accuracy(net.eval(), faces, device):.4f}, of the commoner answers alone {alone:.4f}")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    save_file({name: value.cpu().contiguous() for name, value in F.state_dict().items()}, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
