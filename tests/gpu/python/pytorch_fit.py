# SPDX-License-Identifier: BSD-3-Clause
"""The largest batch and the longest sequence that train before PyTorch runs out of memory.

    python3 tests/gpu/python/pytorch_fit.py [--gib 24] [--steps 13] [--modes native,expandable,bins]

Three programs, each with a number that a user raises until memory runs out, and each allocator at
the same limit (torch.cuda.set_per_process_memory_fraction):
  batch     a transformer, sequences of 13 lengths: the largest batch
  sequence  the same, batch 8: the longest sequence; the others are 1/4 to 1 of it
  images    convolutions, image sizes that change: the largest batch
A number fits if `steps` steps run; the search doubles it and then halves the interval, to 2 % of
the number.  Each allocator has one process, which goes on after each torch.OutOfMemoryError.
Prints a line for each program and allocator.  Exit: 0; 77: no PyTorch or no GPU.
"""
import argparse
import gc
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch_peak  # noqa: E402

PARTS = [(i * 7 % 13 + 4) / 16 for i in range(13)]  # 1/4 to 1, in no order


def train(torch, model, optimizer, inputs, labels):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        out = model(inputs)
        loss = torch.nn.functional.cross_entropy(out.flatten(0, -2), labels.flatten())
    loss.backward()
    optimizer.step()


def words(torch, batch, length, steps):
    model = pytorch_peak.make_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for i in range(steps):
        seen = torch.randint(8000, (batch, max(16, int(length * PARTS[i % 13]))), device="cuda")
        train(torch, model, optimizer, seen, seen)


def images(torch, batch, steps):
    step = pytorch_peak.images_step(torch, lambda i: max(1, int(batch * PARTS[i % 13])))
    for i in range(steps):
        step(i)


PROGRAMS = {
    "batch": (16, lambda torch, n, steps: words(torch, n, 512, steps)),
    "sequence": (256, lambda torch, n, steps: words(torch, 8, n, steps)),
    "images": (64, images),
}


def fits(torch, program, number, steps):
    torch.manual_seed(1)
    try:
        program(torch, number, steps)
        torch.cuda.synchronize()
        return True
    except torch.OutOfMemoryError:
        return False
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def search(torch, program, low, steps):
    """The largest number that fits."""
    high = 2 * low
    while fits(torch, program, high, steps):
        low, high = high, 2 * high
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        if fits(torch, program, middle, steps):
            low = middle
        else:
            high = middle
    return low


def run_one(args):
    import torch

    pytorch_peak.enable(torch, args.mode)
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(args.gib * 2**30 / total, 1.0))
    for name in args.programs.split(","):
        begin = time.perf_counter()
        low, program = PROGRAMS[name]
        print("%-8s %-10s %6d, %.0f s" % (name, args.mode, search(torch, program, low, args.steps),
                                         time.perf_counter() - begin), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gib", type=float, default=24)
    parser.add_argument("--steps", type=int, default=13)
    parser.add_argument("--modes", default="native,expandable,bins")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--mode", default="")
    args = parser.parse_args()
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
    for mode in args.modes.split(","):
        subprocess.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--mode", mode],
                       env=pytorch_peak.environment(mode), check=True)


if __name__ == "__main__":
    main()
