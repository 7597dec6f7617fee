#!/usr/bin/env python3
"""Loss and gradients of RevNet-18 by PyTorch in double, for tests/kernels/golden_test.c.

Usage: make_revnet18.py > revnet18.txt    (needs numpy and PyTorch: python3-torch of Debian)

The net is written here from its description (arXiv:2406.02052 section 4.1), in float64.  Images and
parameters come from Philox 2x64-10 (doi:10.1145/2063384.2063405) as in sim/base/random.c, counter
(element, FNV-1a of the tensor's name), key SEED, rounded to float32.

Output, lines of text: `loss <value>`; then for each tensor
  tensor <name> <count> <norm> <largest> <4 projections>
  <entries>     float32 in hexadecimal, without spaces; all, or those at positions drawn by Philox
A projection is the sum of gradient times seeded values in (-1, 1).
"""
import sys

import numpy as np
import torch
import torch.nn.functional as functional

SEED = 18
BATCH = 4
CLASSES = 10
SAMPLES = 1000
PROJECTIONS = 4
LABELS = [3, 0, 9, 4]
WIDTHS = [64, 64, 128, 128, 256, 256, 512, 512]
MASK32 = np.uint64(0xFFFFFFFF)


def high_product(a, b):
    """Upper 64 bits of a 64 x 64 bit product."""
    half = np.uint64(32)
    a0, a1, b0, b1 = a & MASK32, a >> half, b & MASK32, b >> half
    middle = a1 * b0 + (a0 * b0 >> half)
    low = a0 * b1 + (middle & MASK32)
    return a1 * b1 + (middle >> half) + (low >> half)


def philox(seed, low, high):
    """First of the two numbers that Philox 2x64-10 makes of a counter."""
    multiplier = np.uint64(0xD2B74407B1CE6E93)
    key = seed
    x0 = np.asarray(low, dtype=np.uint64)
    x1 = np.full_like(x0, np.uint64(high))
    for _ in range(10):
        x0, x1 = high_product(multiplier, x0) ^ np.uint64(key) ^ x1, multiplier * x0
        key = (key + 0x9E3779B97F4A7C15) % 2**64
    return x0


def name_hash(name):
    value = 0xCBF29CE484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def uniform(seed, count, name):
    """In (-1, 1), float64."""
    bits = philox(seed, np.arange(count), name_hash(name))
    return 2 * ((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52 - 1


class Net:
    """Parameters by name, made when they are first asked for."""

    def __init__(self):
        self.tensors = {}

    def parameter(self, name, shape, base, factor):
        values = (base + factor * uniform(SEED, int(np.prod(shape)), name)).astype(np.float32)
        tensor = torch.tensor(values.astype(np.float64)).reshape(shape).requires_grad_()
        self.tensors[name] = tensor
        return tensor

    def linear(self, name, shape):
        bound = float(np.float32(1 / np.sqrt(np.prod(shape[1:]))))
        weight = self.parameter(name + ".weight", shape, 0, bound)
        return weight, self.parameter(name + ".bias", shape[:1], 0, bound)

    def conv(self, name, x, out, kernel, stride):
        weight, bias = self.linear(name, (out, x.shape[1], kernel, kernel))
        return functional.conv2d(x, weight, bias, stride=stride, padding=kernel // 2)

    def norm(self, name, x):
        scale = self.parameter(name + ".weight", x.shape[1:2], 1, 0.2)
        shift = self.parameter(name + ".bias", x.shape[1:2], 0, 0.2)
        return functional.batch_norm(x, None, None, scale, shift, training=True, eps=1e-5)

    def block(self, name, x, other, width, stride):
        first = self.conv(name + ".conv1", x, width, 3, stride)
        first = functional.relu(self.norm(name + ".bn1", first))
        if stride != 1 or x.shape[1] != width:
            base = self.norm(name + ".shortcut.bn",
                             self.conv(name + ".shortcut.conv", other, width, 1, stride))
            passed = first
        else:
            base, passed = other, x
        residual = self.conv(name + ".conv2", first, width, 3, 1)
        return base + functional.relu(self.norm(name + ".bn2", residual)), passed

    def loss(self, images, labels):
        stem = functional.relu(self.norm("stem.bn", self.conv("stem.conv", images, 128, 3, 1)))
        x, other = stem[:, :64], stem[:, 64:]
        for index, width in enumerate(WIDTHS):
            name = f"layer{index // 2 + 1}.{index % 2}"
            x, other = self.block(name, x, other, width, 2 if index in (2, 4, 6) else 1)
        features = torch.cat((x, other), 1).mean((2, 3))
        weight, bias = self.linear("head.linear", (CLASSES, features.shape[1]))
        return functional.cross_entropy(functional.linear(features, weight, bias), labels)


def write_tensor(name, gradient):
    count = len(gradient)
    projections = [float(uniform(SEED + 1 + i, count, name) @ gradient)
                   for i in range(PROJECTIONS)]
    if count > SAMPLES:
        places = philox(SEED, np.arange(SAMPLES), name_hash(name + ".samples")) % np.uint64(count)
        entries = gradient[places.astype(np.int64)]
    else:
        entries = gradient
    numbers = [np.linalg.norm(gradient), np.abs(gradient).max()] + projections
    print("tensor", name, count, *(f"{n:.17g}" for n in numbers))
    print("".join(f"{bits:08x}" for bits in entries.astype(np.float32).view(np.uint32)))


def main():
    torch.set_num_threads(2)
    net = Net()
    pixels = uniform(SEED, BATCH * 3 * 32 * 32, "images").astype(np.float32).astype(np.float64)
    loss = net.loss(torch.tensor(pixels).reshape(BATCH, 3, 32, 32), torch.tensor(LABELS))
    loss.backward()
    print(f"loss {loss.item():.17g}")
    for name, tensor in net.tensors.items():
        write_tensor(name, tensor.grad.numpy().reshape(-1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
