# SPDX-License-Identifier: BSD-3-Clause
"""The largest batch and the longest sequence that train before PyTorch runs out of memory.

    python3 tests/gpu/python/pytorch_fit.py [--gib 24] [--steps 8] [--modes native,expandable,bins]
                                     [--programs batch,...] [--begin NUMBER,...]

Three programs, each with a number that a user raises until memory runs out, and each allocator at
the same limit (torch.cuda.set_per_process_memory_fraction):
  batch     a transformer, sequences of 13 lengths: the largest batch
  sequence  the same, batch 32: the longest sequence; the others are 1/4 to 1 of it
  experts   layers of experts: the largest number of tokens
A number fits if `steps` steps run; the search is to 2 % of the number, and begins at a number of
--begin for each program, else at one that fits.  Each allocator has one process, which goes on
after each torch.OutOfMemoryError.  Prints a line for each program and allocator, with the most
bytes that were allocated at the largest number that fits, in per cent of the limit: a perfect
allocator would come to 100.  The line ends with why the next number did not fit: it tells nothing
about the allocator if other programs had the memory.  Exit: 0; 77: no PyTorch or no GPU.
"""
import argparse
import gc
import os
import subprocess
import sys
import time

import pytorch_programs


def part(i, whole):
    """1/4 to 1 of it, in no order."""
    return max(1, whole * (i * 6 % 13 + 4) // 16)


# the number with which the search begins, for each GiB, and a step's function
PROGRAMS = {
    "batch": (8, lambda torch, n: pytorch_programs.words_step(
        torch, lambda i: n, lambda i: part(i, 512))),
    "sequence": (128, lambda torch, n: pytorch_programs.words_step(
        torch, lambda i: 32, lambda i: part(i, n))),
    "experts": (4000, lambda torch, n: pytorch_programs.experts_step(
        torch, lambda i: part(i, n))),
}


def fits(torch, program, number, steps):
    """The most allocated bytes, and nothing; or 0 and why they were too few."""
    torch.manual_seed(1)
    torch.cuda.reset_peak_memory_stats()
    try:
        step = program(torch, number)
        for i in range(steps):
            step(i)
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated(), ""
    except torch.OutOfMemoryError as error:
        return 0, str(error)
    finally:
        step = None
        gc.collect()
        torch.cuda.empty_cache()


def search(torch, program, number, steps):
    """The largest number that fits, its most allocated bytes, and why no larger one does: from
    `number` in strides that double, then by halves."""
    low, most, high, why, stride = 0, 0, None, "", max(1, number // 50)
    while high is None or high - low > max(1, low // 50):
        live, text = fits(torch, program, number, steps)
        if live:
            low, most = number, live
        else:
            high, why = number, text
        if high is not None and low > 0:
            number = (low + high) // 2
        else:
            number = max(1, number + (stride if high is None else -stride))
            stride *= 2
    return low, most, why


def run_one(args):
    import torch

    pytorch_programs.enable(torch, args.mode)
    limit = args.gib * 2**30
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(limit / total, 1.0))
    numbers = iter(args.begin.split(",") if args.begin else ())
    for name in args.programs.split(","):
        begin = time.perf_counter()
        low, program = PROGRAMS[name]
        number, most, why = search(torch, program, int(next(numbers, low * args.gib)), args.steps)
        print("%-8s %-10s %6d, %.1f %% of %g GiB allocated, %.0f s; the next one: %s" % (
            name, args.mode, number, 100 * most / limit, args.gib, time.perf_counter() - begin,
            why.partition("of which ")[2]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--gib", type=float, default=24)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--modes", default="native,expandable,bins")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--begin", default="")
    parser.add_argument("--mode", default="")
    args = parser.parse_args()
    if args.mode:
        run_one(args)
        return
    pytorch_programs.need_gpu()
    for mode in args.modes.split(","):
        subprocess.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--mode", mode],
                       env=pytorch_programs.environment(mode), check=True)


if __name__ == "__main__":
    main()
