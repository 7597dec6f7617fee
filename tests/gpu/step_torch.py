#!/usr/bin/env python3
"""One training step of RevNet-18 or RevNet-50 in PyTorch on a GPU: what bench_step is compared with.

Usage: step_torch.py [--net revnet18|revnet50] [--size N] [--batch N] [--math fp32|tf32|bf16]
                     [--runs N] [--device cuda|cpu]
Prints one JSON object; exit 4 where PyTorch or its device is not there.

The networks are PETRA's (arXiv:2406.02052 section 4.1), the step is plain autograd: forward,
cross-entropy, backward, SGD with Nesterov momentum and weight decay on weights alone.  bf16 is
autocast: parameters stay fp32.  cuDNN chooses its algorithms by trying them (benchmark = True), as
users do.
"""
import argparse
import contextlib
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
from revnet18_torch import Block, Unit  # exits with 4 where there is no PyTorch

import torch
import torch.nn.functional as F
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        hidden = outputs // 4
        self.units = nn.ModuleList([Unit(inputs, hidden, 1, 1), Unit(hidden, hidden, 3, stride),
                                    Unit(hidden, outputs, 1, 1)])
        changes = stride != 1 or inputs != outputs
        self.shortcuts = nn.ModuleList(Unit(inputs, outputs, 1, stride)
                                       for _ in range(2 if changes else 0))

    def forward(self, x, other):
        f = x
        for unit in self.units:
            f = F.relu(unit(f), inplace=True)
        if not self.shortcuts:
            return other + f, x
        return self.shortcuts[0](other) + f, self.shortcuts[1](x)


class RevNet(nn.Module):
    """Images of 64 and more are reduced by the stem, as in kernels/net/nets.c."""

    def __init__(self, net, size, classes):
        super().__init__()
        block, width, depths = {"revnet18": (Block, 64, (2, 2, 2, 2)),
                                "revnet50": (Bottleneck, 256, (3, 4, 6, 3))}[net]
        self.large = size >= 64
        self.stem = Unit(3, 128, 7, 2) if self.large else Unit(3, 128, 3, 1)
        blocks, inputs = [], 64
        for section, depth in enumerate(depths):
            for i in range(depth):
                stride = 2 if section > 0 and i == 0 else 1
                blocks.append(block(inputs, width << section, stride))
                inputs = width << section
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(2 * inputs, classes)

    def forward(self, images):
        x = F.relu(self.stem(images), inplace=True)
        if self.large:
            x = F.max_pool2d(x, 2)
        streams = x.chunk(2, dim=1)
        for block in self.blocks:
            streams = block(*streams)
        return self.head(torch.cat(streams, dim=1).mean(dim=(2, 3)))


def make_step(values):
    torch.manual_seed(1)
    net = RevNet(values.net, values.size, values.classes).to(values.device)
    decayed = [p for p in net.parameters() if p.dim() > 1]
    plain = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 5e-4}, {"params": plain}],
                                lr=0.025, momentum=0.9, nesterov=True)
    images = torch.randn(values.batch, 3, values.size, values.size, device=values.device)
    labels = torch.randint(0, values.classes, (values.batch,), device=values.device)
    wait = torch.cuda.synchronize if values.device == "cuda" else lambda: None

    def arithmetic():
        if values.math == "bf16":
            return torch.autocast(values.device, dtype=torch.bfloat16)
        return contextlib.nullcontext()

    def step():
        wait()
        start = time.perf_counter()
        optimizer.zero_grad()
        with arithmetic():
            loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        wait()
        return time.perf_counter() - start

    return step, sum(p.numel() for p in net.parameters())


def main():
    parser = argparse.ArgumentParser(description="times a training step in PyTorch")
    parser.add_argument("--net", choices=("revnet18", "revnet50"), default="revnet50")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--math", choices=("fp32", "tf32", "bf16"), default="fp32")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    values = parser.parse_args()
    if values.device == "cuda" and not torch.cuda.is_available():
        print("step_torch: NOT RUN: this PyTorch has no CUDA, or there is no GPU", file=sys.stderr)
        sys.exit(4)
    torch.backends.cuda.matmul.allow_tf32 = values.math != "fp32"
    torch.backends.cudnn.allow_tf32 = values.math != "fp32"
    torch.backends.cudnn.benchmark = True
    step, parameters = make_step(values)
    for _ in range(3):
        step()
    times = sorted(step() for _ in range(values.runs))
    device = torch.cuda.get_device_name() if values.device == "cuda" else "cpu"
    print(json.dumps({"benchmark": "step_torch", "torch": torch.__version__, "device": device,
                      "net": values.net, "size": values.size, "batch": values.batch,
                      "math": values.math, "runs": values.runs, "parameters": parameters,
                      "median_s": statistics.median(times), "fastest_s": times[0],
                      "slowest_s": times[-1]}))


if __name__ == "__main__":
    main()
