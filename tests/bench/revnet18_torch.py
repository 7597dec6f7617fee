#!/usr/bin/env python3
"""One training step of RevNet-18 at 32x32 in PyTorch, timed: what build/bench_step is compared with.

Usage: revnet18_torch.py [--threads N] [--runs N] [--batch N] [--classes N]
Prints one JSON object.  bench_step starts it with --serve and sends one line per wanted step,
so that both programs can be timed by turns; each line is answered by the step's seconds.

The network is PETRA's RevNet-18 (arXiv:2406.02052 section 4.1): a stem of 128 channels split into
two streams, eight basic blocks y = x~ + F(x), y~ = x with F = conv-BN-ReLU-conv-BN-ReLU (all
convolutions with a bias), three of them halving the image, and a linear head on both streams.  The
step is plain autograd: forward, cross-entropy, backward, SGD with Nesterov momentum and weight decay
on the weights of convolutions and the head.
"""
import argparse
import json
import statistics
import sys
import time

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    print(f"revnet18_torch: NOT RUN: {error}", file=sys.stderr)
    sys.exit(4)


class Unit(nn.Module):
    def __init__(self, inputs, outputs, kernel, stride):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.norm(self.conv(x))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = Unit(inputs, outputs, 3, stride)
        self.second = Unit(outputs, outputs, 3, 1)
        changes = stride != 1 or inputs != outputs
        self.shortcut = Unit(inputs, outputs, 1, stride) if changes else None

    def forward(self, x, other):
        first = F.relu(self.first(x), inplace=True)
        residual = F.relu(self.second(first), inplace=True)
        if self.shortcut is None:
            return other + residual, x
        return self.shortcut(other) + residual, first


class RevNet18(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = Unit(3, 128, 3, 1)
        blocks, inputs = [], 64
        for outputs in (64, 128, 256, 512):
            blocks.append(Block(inputs, outputs, 1 if outputs == 64 else 2))
            blocks.append(Block(outputs, outputs, 1))
            inputs = outputs
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(1024, classes)

    def forward(self, images):
        streams = F.relu(self.stem(images), inplace=True).chunk(2, dim=1)
        for block in self.blocks:
            streams = block(*streams)
        return self.head(torch.cat(streams, dim=1).mean(dim=(2, 3)))


def make_step(batch, classes):
    torch.manual_seed(1)
    net = RevNet18(classes)
    decayed = [p for p in net.parameters() if p.dim() > 1]
    plain = [p for p in net.parameters() if p.dim() <= 1]
    optimizer = torch.optim.SGD([{"params": decayed, "weight_decay": 5e-4}, {"params": plain}],
                                lr=0.025, momentum=0.9, nesterov=True)
    images = torch.randn(batch, 3, 32, 32)
    labels = torch.randint(0, classes, (batch,))

    def step():
        start = time.perf_counter()
        optimizer.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()
        return time.perf_counter() - start

    return step, sum(p.numel() for p in net.parameters())


def main():
    parser = argparse.ArgumentParser(description="times RevNet-18's training step in PyTorch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--serve", action="store_true")
    values = parser.parse_args()
    torch.set_num_threads(values.threads)
    step, parameters = make_step(values.batch, values.classes)
    for _ in range(3):
        step()
    if values.serve:
        print(json.dumps({"torch": torch.__version__, "parameters": parameters}), flush=True)
        for _ in sys.stdin:
            print(f"{step():.9f}", flush=True)
        return
    times = sorted(step() for _ in range(values.runs))
    print(json.dumps({"benchmark": "revnet18_torch", "torch": torch.__version__,
                      "threads": values.threads, "batch": values.batch, "runs": values.runs,
                      "parameters": parameters, "median_s": statistics.median(times),
                      "fastest_s": times[0], "slowest_s": times[-1]}))


if __name__ == "__main__":
    main()
