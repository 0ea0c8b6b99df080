# SPDX-License-Identifier: BSD-3-Clause
"""Step times and peak memory of the programs of pytorch_programs.py with PyTorch's own allocator
and with libshpool.

    python3 tests/gpu/python/pytorch_steps.py [--modes native,expandable,bins,driver]
                                       [--programs fixed,...] [--part 1] [--core 4] [--calls]

The host limits most of these steps, and its speed changes by a factor of 1.5 within a minute.  So
each allocator has a process for all of the time, and the processes take turns of a few steps: while
one works, the others sleep, so that all meet the same fast and slow times, and the same core.
Prints for each program and allocator
  held, allocated   the most bytes held from the driver, and the most allocated from them
  step              the median of the second half of the run; p10 and p90: the times below and
                    above which a tenth of its steps are
  first             the first hundred steps together
  GPU               all of a step's kernels and copies together, by PyTorch's profiler
  new               requests of a step in the second half that no free block served, and the latest
                    step in which memory came from the driver: of libshpool
and how they compare with those of the first allocator: the median of the quotients of the same
step's times, and the bounds in which that median is, with 95 %.
  --part   the part of all steps to run
  --core   the CPU's core on which all steps run
  --calls  compile torch_calls.cc and print the host's time in mallocs and frees: of the first
           hundred steps together, of a step in the second half, and the median of a malloc and of a
           free there with the time above which a tenth of them are
Exit: 0; 1: `bins` held more than PyTorch's own; 77: no PyTorch or no GPU.
"""
import argparse
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import pytorch_programs

HERE = os.path.dirname(os.path.abspath(__file__))

GPU_STEPS = 4
TURN = 2
STEPS = {"fixed": 120, "varied": 130, "images": 126, "caches": 300, "experts": 104, "tuning": 58,
         "detection": 40}


class Counters:
    """Of libshpool, zeros for PyTorch's own allocator; times of calls, if they are wanted."""

    def __init__(self, torch, mode, calls):
        pytorch_programs.enable(torch, mode)
        self.calls = ctypes.CDLL(calls) if calls else None
        if calls:
            self.calls.calls_total_ms.restype = ctypes.c_double
            self.calls.calls_begin()
        self.read = None
        if torch.cuda.get_allocator_backend() != "native":
            import shpool.torch
            self.read = shpool.torch.stats

    def now(self):
        """Milliseconds in mallocs and frees, misses, calls of the driver."""
        spent = self.calls.calls_total_ms() if self.calls else 0.0
        if self.read is None:
            return spent, 0, 0
        stats = self.read(0)
        return spent, stats.misses, stats.driver_mallocs + stats.driver_frees

    def times(self):
        """ns of malloc and free: medians, and the times above which a tenth of them are."""
        if self.calls is None:
            return []
        return [self.calls.calls_ns(kind, ctypes.c_double(part))
                for kind in (0, 1) for part in (0.5, 0.9)]


def load_libraries(torch):
    """Of cuBLAS and cuDNN, so that the first program's steps do not contain that."""
    weights = torch.ones(8, 8, 3, 3, device="cuda", requires_grad=True)
    x = torch.nn.functional.conv2d(torch.ones(1, 8, 8, 8, device="cuda"), weights)
    (x[0, 0] @ x[0, 0]).sum().backward()
    torch.cuda.synchronize()


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


def gpu_ms(torch, step, last):
    """The GPU's own time of a step, from the last steps again.  Gaps between kernels do not
    count, so the host's speed has no influence, even if it waits for the GPU within a step."""
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=kinds) as seen:
        for i in range(last - GPU_STEPS, last):
            step(i)
        torch.cuda.synchronize()
    return sum(event.time_range.elapsed_us() for event in seen.events()
               if event.device_type == torch.autograd.DeviceType.CUDA) / 1e3 / GPU_STEPS


def worker(mode, calls, core):
    """Obeys lines of standard input: a program's name; the first step and the number of them;
    "half"; "end"; "gpu"."""
    import torch

    counters = Counters(torch, mode, calls)
    if core >= 0:
        os.sched_setaffinity(0, {core})  # of this thread, and of threads that begin later
    torch.set_num_threads(1)
    load_libraries(torch)
    step, last = None, 0
    print("ready", flush=True)
    for line in sys.stdin:
        words = line.split()
        done = []
        if len(words) == 2:
            last = sum(map(int, words))
            done = take_turn(torch, counters, step, int(words[0]), int(words[1]))
        elif words == ["gpu"]:
            done = [gpu_ms(torch, step, last)]
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


def start(mode, calls, core):
    return subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), "--worker", mode, "--library", calls,
         "--core", str(core)],
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


class Report:
    """Of one allocator and program."""

    def __init__(self, rows, gpu, end):
        self.held, self.live, self.calls = end
        self.clock = [row[0] for row in rows]
        self.half = len(rows) // 2
        self.spent = sum(row[1] for row in rows[:100])
        self.spent_later = sum(row[1] for row in rows[self.half:]) / (len(rows) - self.half)
        self.missed = sum(row[2] for row in rows[self.half:]) / (len(rows) - self.half)
        self.latest = max((i for i, row in enumerate(rows) if row[3] > 0), default=0)
        self.gpu = gpu

    def first(self):
        return sum(self.clock[:100])

    def text(self):
        late = self.clock[self.half:]
        text = ("held %.1f MiB, allocated %.1f MiB, held/allocated %.3f, step %.2f ms, "
                "p10 %.2f ms, p90 %.2f ms, first %.0f ms, GPU %.2f ms" % (
                    self.held / 2**20, self.live / 2**20, self.held / max(self.live, 1),
                    statistics.median(late), quantile(late, 0.1), quantile(late, 0.9),
                    self.first(), self.gpu))
        if self.latest:
            text += ", new %.1f, latest %d" % (self.missed, self.latest)
        if self.calls:
            text += ", calls %.1f and %.3f ms, malloc %d and %d ns, free %d and %d ns" % (
                self.spent, self.spent_later, *self.calls)
        return text

    def compared(self, other):
        ratios = sorted(a / b for a, b in zip(self.clock[self.half:], other.clock[self.half:]))
        middle, width = len(ratios) / 2, len(ratios) ** 0.5
        text = "step %.3f (%.3f to %.3f), p10 %.3f, p90 %.3f, first %.3f, GPU %.3f" % (
            statistics.median(ratios), ratios[max(0, int(middle - width))],
            ratios[min(len(ratios) - 1, int(middle + width))],
            *(quantile(self.clock[self.half:], part) / quantile(other.clock[self.half:], part)
              for part in (0.1, 0.9)), self.first() / other.first(),
            self.gpu / max(other.gpu, 1e-9))
        if self.calls:
            text += ", calls %+.2f %% of the first, %+.2f %% of a step" % (
                100 * (self.spent - other.spent) / other.first(),
                100 * (self.spent_later - other.spent_later) /
                statistics.median(other.clock[self.half:]))
        return text


def run(workers, program, part):
    """The held bytes of each."""
    steps = int(max(2, STEPS[program] * part / TURN)) * TURN
    rows = {mode: [] for mode in workers}
    modes = list(workers)
    for process in workers.values():
        ask(process, program)
    for first in range(0, steps, TURN):
        for mode in modes:
            if steps // 2 <= first < steps // 2 + TURN:
                ask(workers[mode], "half")
            rows[mode] += ask(workers[mode], "%d %d" % (first, TURN))
        modes = modes[1:] + modes[:1]
    first = next(iter(workers))
    ends = {mode: ask(process, "end") for mode, process in workers.items()}
    reports = {mode: Report(rows[mode], ask(process, "gpu")[0], ends[mode])
               for mode, process in workers.items()}
    for mode, report in reports.items():
        print("%-11s %-9s %s" % (mode, program, report.text()), flush=True)
    for mode, report in reports.items():
        if mode != first:
            print("%-11s %-9s %s" % (mode + "/" + first, program,
                                     report.compared(reports[first])), flush=True)
    return {mode: report.held for mode, report in reports.items()}


def compiled(folder):
    from shpool import _torch
    path = os.path.join(folder, "torch_calls.so")
    _torch.build(os.path.join(HERE, "torch_calls.cc"), path)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--modes", default=",".join(pytorch_programs.MODES))
    parser.add_argument("--programs", default=",".join(STEPS))
    parser.add_argument("--part", type=float, default=1)
    parser.add_argument("--core", type=int, default=-1)
    parser.add_argument("--calls", action="store_true")
    parser.add_argument("--worker", default="")
    parser.add_argument("--library", default="")
    args = parser.parse_args()
    if args.worker:
        worker(args.worker, args.library, args.core)
        return
    pytorch_programs.need_gpu()
    with tempfile.TemporaryDirectory(prefix="shpool-calls.") as folder:
        calls = compiled(folder) if args.calls else ""
        workers = {mode: start(mode, calls, args.core) for mode in args.modes.split(",")}
        for process in workers.values():
            answer(process)
        held = [run(workers, program, args.part) for program in args.programs.split(",")]
        for process in workers.values():
            process.stdin.close()
            process.wait()
    sys.exit(any(row["bins"] > row["native"] for row in held if {"bins", "native"} <= set(row)))


if __name__ == "__main__":
    main()
