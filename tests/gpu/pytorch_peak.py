# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of a training loop with PyTorch's own allocator and with libshpool in its place.

    python3 tests/gpu/pytorch_peak.py LIBSHPOOL_SO [--steps 60] [--log LOG] [--out FOLDER]

A small transformer is trained twice: with sequences of one length, and with lengths that change
from step to step.  For each allocator, in a process of its own: the most bytes that it held from
the driver, the most that were allocated from it, and the median time of a step.  With --log, a log
of the layer `log` is run against PyTorch's allocator, too: `shpool-bench memory --replay` does the
same for ours.  Prints a line for each; with --out also writes gpu_torch_peak.json.  Exit: 0; 1: ours
held more than PyTorch's own; 77: no PyTorch or no GPU.
"""
import argparse
import gc
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))

LENGTHS = {"fixed": [320], "varied": [128 + 32 * (i * 7 % 13) for i in range(13)]}
SPEC = "stats|bins"


class Native:
    """What PyTorch says of its own allocator."""

    def __init__(self, torch, _path):
        self.torch = torch

    def begin(self):
        self.torch.cuda.empty_cache()
        self.torch.cuda.reset_peak_memory_stats()

    def peaks(self):
        return self.torch.cuda.max_memory_reserved(), self.torch.cuda.max_memory_allocated()


class Ours:
    """The same of libshpool, which has to be chosen before CUDA begins."""

    def __init__(self, torch, path):
        import ctypes
        import shpool_torch

        self.torch = torch
        self.path = path
        self.stats = shpool_torch.stats
        shpool_torch.replace(path)
        self.lib = shpool_torch.library(path)
        self.shared = ctypes.c_void_p()
        torch.zeros(1, device="cuda")
        if self.lib.shpool_device_allocator_default(0, ctypes.byref(self.shared)) != 0:
            sys.exit(self.lib.shpool_last_error().decode())

    def begin(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.empty_cache()
        self.lib.shpool_device_reset_peak(self.shared)

    def peaks(self):
        stats = self.stats(0, self.path)
        return stats.driver_bytes_peak, stats.live_bytes_peak


def make_model(torch):
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    return torch.nn.Sequential(
        torch.nn.Embedding(8000, 512), torch.nn.TransformerEncoder(layer, 8),
        torch.nn.Linear(512, 8000)).cuda()


def train(torch, lengths, steps):
    """Median time of a step, ms."""
    torch.manual_seed(1)
    model = make_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    times = []
    for step in range(steps):
        words = torch.randint(8000, (16, lengths[step % len(lengths)]), device="cuda")
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times)[len(times) // 2]


def replay(torch, path):
    """The calls of a log on PyTorch's allocator: the bytes held at most."""
    live = {}
    stream = torch.cuda.current_stream()
    with open(path, encoding="utf-8") as log:
        for line in log:
            fields = line.rstrip().split(",")
            if len(fields) < 6:
                continue
            if fields[2] == "allocate":
                live[fields[3]] = torch.cuda.caching_allocator_alloc(int(fields[4]), 0, stream)
            elif fields[2] == "free" and fields[3] in live:
                torch.cuda.caching_allocator_delete(live.pop(fields[3]))
    peaks = torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()
    for pointer in live.values():
        torch.cuda.caching_allocator_delete(pointer)
    return peaks


def run_one(args):
    import torch

    allocator = {"native": Native, "ours": Ours}[args.mode](torch, args.library)
    results = {}
    for name, lengths in LENGTHS.items():
        allocator.begin()
        median = train(torch, lengths, args.steps)
        held, live = allocator.peaks()
        results[name] = {"held": held, "live": live, "step_ms": median}
        gc.collect()
    if args.mode == "native" and args.log:
        allocator.begin()
        held, live = replay(torch, args.log)
        results["log"] = {"held": held, "live": live, "step_ms": 0.0}
    print(json.dumps(results))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("library")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--log", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("--mode", choices=("native", "ours"), default="")
    args = parser.parse_args()
    args.library = os.path.abspath(args.library)
    if args.mode:
        run_one(args)
        return
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)

    results = {}
    for mode in ("native", "ours"):
        environment = dict(os.environ, SHPOOL_DEVICE_ALLOCATOR=SPEC)
        command = [sys.executable, __file__, args.library, "--mode", mode, "--steps",
                   str(args.steps), "--log", args.log]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            sys.exit(f"{mode}: exit {done.returncode}")
        results[mode] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    more = 0
    for mode, rows in results.items():
        for name, row in rows.items():
            print("%-6s %-6s held %8.1f MiB, allocated %8.1f MiB, held/allocated %.3f, step %.2f ms"
                  % (mode, name, row["held"] / 2**20, row["live"] / 2**20,
                     row["held"] / max(row["live"], 1), row["step_ms"]))
    for name in LENGTHS:
        more += results["ours"][name]["held"] > results["native"][name]["held"]
    if args.out:
        with open(os.path.join(args.out, "gpu_torch_peak.json"), "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if more else 0)


if __name__ == "__main__":
    main()
