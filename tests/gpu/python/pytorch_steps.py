# SPDX-License-Identifier: BSD-3-Clause
"""Step times of the programs of pytorch_peak.py with PyTorch's own allocator and with libshpool.

    python3 tests/gpu/python/pytorch_steps.py [--modes native,expandable,bins] [--programs ...]

The host limits these steps, and its speed changes by a factor of 1.5 within a minute.  So each
allocator has a process for all of the time, and the processes take turns of a few steps: while one
works, the others sleep, so that all meet the same fast and slow times.  Prints the median time of a
step, for each program and allocator, in the first and in the second half of the run, and the times
below and above which a tenth of the second half's steps are; the former is less noisy.  For
libshpool it also prints how many requests of a step no free block served, and the latest step in
which memory came from the driver.  Exit: 0; 77: no PyTorch or no GPU.
"""
import argparse
import gc
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import pytorch_peak  # noqa: E402

# steps, and steps in a turn
PLAN = {"fixed": (60, 5), "varied": (78, 13), "images": (126, 9), "caches": (200, 20)}


class Calls:
    """Counters of libshpool; nothing for PyTorch's own allocator."""

    def __init__(self, torch, mode):
        pytorch_peak.enable(torch, mode)
        self.read = None
        if torch.cuda.get_allocator_backend() != "native":
            import shpool.torch
            self.read = shpool.torch.stats

    def now(self):
        if self.read is None:
            return 0, 0
        stats = self.read(0)
        return stats.misses, stats.driver_mallocs + stats.driver_frees


def take_turn(torch, calls, step, first, count):
    """A row for each step: its time in ms, and what it added to the counters."""
    rows = []
    for i in range(first, first + count):
        before = calls.now()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(i)
        torch.cuda.synchronize()
        took = (time.perf_counter() - begin) * 1e3
        rows.append([took] + [now - then for now, then in zip(calls.now(), before)])
    return rows


def worker(mode):
    """Obeys lines of standard input: a program's name, or the first step and the number of them."""
    import torch

    calls = Calls(torch, mode)
    step = None
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        if len(words) == 1:
            step = None
            gc.collect()
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.manual_seed(1)
            step = pytorch_peak.PROGRAMS[words[0]](torch)
            print("ready", flush=True)
        else:
            print(json.dumps(take_turn(torch, calls, step, int(words[0]), int(words[1]))),
                  flush=True)


def start(mode):
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--worker", mode],
                            env=pytorch_peak.environment(mode), stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)


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


def report(program, mode, rows):
    half = len(rows) // 2
    late = [i for i, row in enumerate(rows) if row[2] > 0]
    first, second = ([row[0] for row in rows[:half]], [row[0] for row in rows[half:]])
    print("%-7s %-10s first half %7.2f ms, second half %7.2f ms, tenths of it below %.2f and above "
          "%.2f ms, misses a step %.1f%s" % (
              program, mode, quantile(first, 0.5), quantile(second, 0.5), quantile(second, 0.1),
              quantile(second, 0.9),
              sum(row[1] for row in rows[half:]) / half,
              ", latest step with new memory %d" % late[-1] if late else ""), flush=True)


def run(workers, program):
    steps, turn = PLAN[program]
    rows = {mode: [] for mode in workers}
    modes = list(workers)
    for process in workers.values():
        ask(process, program)
    for first in range(0, steps, turn):
        for mode in modes:
            rows[mode] += ask(workers[mode], "%d %d" % (first, turn))
        modes = modes[1:] + modes[:1]
    for mode in workers:
        report(program, mode, rows[mode])
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--modes", default="native,expandable,bins")
    parser.add_argument("--programs", default=",".join(PLAN))
    parser.add_argument("--worker", default="")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker)
        return
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    workers = {mode: start(mode) for mode in args.modes.split(",")}
    for process in workers.values():
        answer(process)
    for program in args.programs.split(","):
        run(workers, program)
    for process in workers.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
