# SPDX-License-Identifier: BSD-3-Clause
"""Step times and peak memory of the programs of pytorch_programs.py with PyTorch's own allocator
and with libshpool.

    python3 tests/gpu/python/pytorch_steps.py [--modes native,expandable,bins,driver]
                                       [--programs fixed,...] [--part 1] [--calls]

The host limits most of these steps, and its speed changes by a factor of 1.5 within a minute.  So
each allocator has a process for all of the time, and the processes take turns of a few steps: while
one works, the others sleep, so that all meet the same fast and slow times.  Prints for each program
and allocator the most bytes that it held from the driver, the most that were allocated from it, the
median and the mean time of a step in the first half of the run, the median in the second half, and
the times below and above which a tenth of the second half's steps are.  For libshpool it also
prints how many requests of a step no free block served, and the latest step in which memory came
from the driver.
  --part   the part of all steps to run
  --calls  compile torch_calls.cc and print the host's time of a malloc and of a free in the second
           half: the median, and the time above which a tenth of them are
Exit: 0; 1: `bins` held more than PyTorch's own; 77: no PyTorch or no GPU.
"""
import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

import pytorch_programs

HERE = os.path.dirname(os.path.abspath(__file__))

# steps, and steps in a turn
PLAN = {"fixed": (200, 10), "varied": (208, 13), "images": (126, 9), "caches": (400, 20),
        "experts": (208, 13), "detection": (102, 17), "tuning": (116, 29)}


class Counters:
    """Of libshpool, zeros for PyTorch's own allocator; times of calls, if they are wanted."""

    def __init__(self, torch, mode, calls):
        pytorch_programs.enable(torch, mode)
        self.calls = ctypes.CDLL(calls) if calls else None
        self.read = None
        if torch.cuda.get_allocator_backend() != "native":
            import shpool.torch
            self.read = shpool.torch.stats

    def now(self):
        if self.read is None:
            return 0, 0
        stats = self.read(0)
        return stats.misses, stats.driver_mallocs + stats.driver_frees

    def times(self):
        """ns of malloc and free: medians, and the times above which a tenth of them are."""
        if self.calls is None:
            return []
        return [self.calls.calls_ns(kind, ctypes.c_double(part))
                for kind in (0, 1) for part in (0.5, 0.9)]


def take_turn(torch, counters, step, first, count):
    """A row for each step: its time in ms, and what it added to the counters."""
    rows = []
    for i in range(first, first + count):
        before = counters.now()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(i)
        torch.cuda.synchronize()
        took = (time.perf_counter() - begin) * 1e3
        rows.append([took] + [now - then for now, then in zip(counters.now(), before)])
    return rows


def worker(mode, calls):
    """Obeys lines of standard input: a program's name; the first step and the number of them;
    "half"; "end"."""
    import torch

    counters = Counters(torch, mode, calls)
    step = None
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        done = []
        if len(words) == 2:
            done = take_turn(torch, counters, step, int(words[0]), int(words[1]))
        elif words == ["half"]:
            if counters.calls:
                counters.calls.calls_begin()
        elif words == ["end"]:
            done = [torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated(),
                    counters.times()]
        else:
            step = None
            gc.collect()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            torch.manual_seed(1)
            step = pytorch_programs.PROGRAMS[words[0]](torch)
        print(json.dumps(done), flush=True)


def start(mode, calls):
    return subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), "--worker", mode, "--library", calls],
        env=pytorch_programs.environment(mode), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)


def answer(process):
    for line in process.stdout:
        if line.startswith("["):
            return json.loads(line)
        if line.startswith("ready"):
            return None
    sys.exit("a worker has ended")


def ask(process, text):
    process.stdin.write(text + "\n")
    process.stdin.flush()
    return answer(process)


def quantile(values, part):
    return sorted(values)[int(len(values) * part)]


def report(program, mode, rows, end):
    half = len(rows) // 2
    held, live, calls = end
    late = [i for i, row in enumerate(rows) if row[2] > 0]
    first, second = ([row[0] for row in rows[:half]], [row[0] for row in rows[half:]])
    print("%-10s %-9s held %8.1f MiB, allocated %8.1f MiB, held/allocated %.3f, step %.2f ms, mean "
          "%.2f, then %.2f, tenths below %.2f and above %.2f, misses a step %.1f%s%s" % (
              mode, program, held / 2**20, live / 2**20, held / max(live, 1),
              quantile(first, 0.5), sum(first) / half,
              quantile(second, 0.5), quantile(second, 0.1), quantile(second, 0.9),
              sum(row[1] for row in rows[half:]) / half,
              ", latest step with new memory %d" % late[-1] if late else "",
              "; malloc %d and %d ns, free %d and %d" % tuple(calls) if calls else ""), flush=True)


def run(workers, program, part):
    """The held bytes of each."""
    steps, turn = PLAN[program]
    steps = int(max(2 * turn, steps * part) + turn - 1) // turn * turn
    rows = {mode: [] for mode in workers}
    modes = list(workers)
    for process in workers.values():
        ask(process, program)
    for first in range(0, steps, turn):
        for mode in modes:
            if steps // 2 <= first < steps // 2 + turn:
                ask(workers[mode], "half")
            rows[mode] += ask(workers[mode], "%d %d" % (first, turn))
        modes = modes[1:] + modes[:1]
    ends = {mode: ask(process, "end") for mode, process in workers.items()}
    for mode in workers:
        report(program, mode, rows[mode], ends[mode])
    return {mode: end[0] for mode, end in ends.items()}


def compiled(folder):
    from shpool import _torch
    path = os.path.join(folder, "torch_calls.so")
    _torch.build(os.path.join(HERE, "torch_calls.cc"), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--modes", default=",".join(pytorch_programs.MODES))
    parser.add_argument("--programs", default=",".join(PLAN))
    parser.add_argument("--part", type=float, default=1)
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--worker", default="")
    parser.add_argument("--library", default="")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.library)
        return
    pytorch_programs.need_gpu()
    with tempfile.TemporaryDirectory(prefix="shpool-calls.") as folder:
        calls = compiled(folder) if args.calls else ""
        workers = {mode: start(mode, calls) for mode in args.modes.split(",")}
        for process in workers.values():
            answer(process)
        held = [run(workers, program, args.part) for program in args.programs.split(",")]
        for process in workers.values():
            process.stdin.close()
            process.wait()
    sys.exit(any(row["bins"] > row["native"] for row in held if {"bins", "native"} <= set(row)))


if __name__ == "__main__":
    main()
