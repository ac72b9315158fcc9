"""Makes features.pt: a network in TorchScript, trained with PyTorch on the digits 0 to 4 of MNIST.

    python3 examples/data/torchscript/make.py

The example FineTune loads it in Java, adds a layer, and trains it to recognise all ten digits.
"""

import gzip
import pathlib

import torch
from torch import nn

FOLDER = pathlib.Path(__file__).parent
MNIST = FOLDER.parent / "mnist"


def read(name, header):
    with gzip.open(MNIST / name) as file:
        return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)


torch.manual_seed(0)
images = read("train-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28).float() / 255
labels = read("train-labels-idx1-ubyte.gz", 8).long()
images, labels = images[labels < 5], labels[labels < 5]

features = nn.Sequential(
    nn.Conv2d(1, 8, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(16 * 4 * 4, 64), nn.ReLU(),
)
head = nn.Linear(64, 5)
optimizer = torch.optim.Adam([*features.parameters(), *head.parameters()], lr=0.001)
for batch in torch.randperm(len(images)).split(64):
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(features(images[batch])), labels[batch]).backward()
    optimizer.step()

torch.jit.script(features).save(str(FOLDER / "features.pt"))
