# SPDX-License-Identifier: BSD-3-Clause
"""The memory part of PyTorch's own test_cuda.py, with PyTorch's allocator and with libshpool.

    python3 tests/gpu/python/pytorch_own.py CHECKOUT/test/test_cuda.py [--seconds 300]
                                     [--only REGEX]

CHECKOUT is a checkout of PyTorch of the installed version, or nearly; PyTorch's wheel does not
contain the file.  Each allocator has a process, and both run at once; a test that uses most of the
device's memory waits until the other process is between two tests, and keeps it there.  A test
hangs that has run for a minute; after it, or a crash, the rest goes on in another process.  Prints
a line for each test that fails or does not end alike with both, the sums, and the tests that take
longest.  Exit: 0; 1: a test that passes with PyTorch's allocator does not with libshpool; 77: no
PyTorch or no GPU.
"""
import argparse
import concurrent.futures
import fcntl
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import pytorch_programs

CLASSES = "TestCuda|TestCudaMallocAsync|TestBlockStateAbsorption|TestMemPool|TestCachingHost.*"
NAMES = ("memory|alloc|snapshot|graph|stream|oom|pool|leak|pinned|checkpoint|block|segment|deleter|"
         "out_of|cycles|TestBlockState|TestMemPool")
BAD = "failed", "crashed", "hung"
LONG = 60  # seconds of a test that hangs
ALONE = "out_of_memory|memory_fraction|memory_used|record_stream_oom"


class Result(unittest.TestResult):
    """A line of standard output for the begin and the end of each test."""
    begun = 0.0

    def __init__(self, turn):
        super().__init__()
        self.turn = turn  # a file that both processes lock

    def say(self, test, word, reason=""):
        print("@" + json.dumps([test.id().split(".", maxsplit=1)[1], word, reason,
                                time.monotonic() - self.begun]), flush=True)

    def startTest(self, test):
        super().startTest(test)
        fcntl.flock(self.turn, fcntl.LOCK_EX if re.search(ALONE, test.id()) else fcntl.LOCK_SH)
        self.good = True
        self.begun = time.monotonic()
        self.say(test, "begin")

    def stopTest(self, test):
        if self.good:
            self.say(test, "passed")
        fcntl.flock(self.turn, fcntl.LOCK_UN)

    def bad(self, test, word, reason):
        self.good = False
        self.say(test, word, " ".join(str(reason).split())[:300])

    def addFailure(self, test, err):
        self.bad(test, "failed", err[1])

    def addError(self, test, err):
        self.bad(test, "failed", f"{err[0].__name__}: {err[1]}")

    def addSkip(self, test, reason):
        self.bad(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        self.bad(test, "skipped", "fails as expected")


def worker(path, only, without, turn):
    if os.environ.get("SHPOOL_OWN") == "1":
        import shpool.torch
        shpool.torch.enable()
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location("test_cuda", path)
    module = sys.modules["test_cuda"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    suite = unittest.TestSuite()
    for group in unittest.defaultTestLoader.loadTestsFromModule(module):
        for test in group:
            kind, name = test.id().split(".")[-2:]
            if (re.fullmatch(CLASSES, kind) and re.search(only, f"{kind}.{name}")
                    and f"{kind}.{name}" not in without):
                suite.addTest(test)
    with open(turn, encoding="utf-8") as file:
        suite.run(Result(file))


def run_rest(args, ours, results, end, turn):
    """Runs the tests that have no result yet, until that time.  Returns whether one of them ended
    the process."""
    command = [sys.executable, os.path.abspath(__file__), args.path, "--only", args.only,
               "--turn", turn, "--without", json.dumps(sorted(results))]
    process = subprocess.Popen(command, env=dict(os.environ, SHPOOL_OWN=str(int(ours))), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                               start_new_session=True)  # with the processes that tests start
    last, word, said, begun, late = None, "", [], 0.0, False

    def end_late():
        nonlocal late
        late = True
        os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(end - time.monotonic(), end_late)
    timer.start()
    for line in process.stdout:
        said.append(line)
        if line.startswith("@["):
            last, *result = json.loads(line[1:])
            results[last], word, begun = result, result[0], time.monotonic()
            timer.cancel()
            left = end - begun
            timer = threading.Timer(min(left, LONG) if word == "begin" else left, end_late)
            timer.start()
    process.wait()
    timer.cancel()
    ran = time.monotonic() - begun
    if word == "begin" and late and ran < LONG:
        del results[last]
    elif word == "begin":
        results[last] = ["hung", "no end", ran] if late else [
            "crashed", f"exit {process.returncode}", ran]
    elif last is None and process.returncode != 0 and not late:
        sys.exit(f"exit {process.returncode} before the first test: " + "".join(said[-20:]))
    return word == "begin"


def run(args, ours, results, end, turn):
    """Adds to {test: [word, reason, seconds]}, until the time is over."""
    while time.monotonic() < end and run_rest(args, ours, results, end, turn):
        pass


def report(native, ours):
    """Returns the number of tests that only libshpool fails."""
    worse = 0
    for name in sorted(set(native) | set(ours)):
        before, after = native.get(name, ["no time", ""]), ours.get(name, ["no time", ""])
        if before[0] != after[0]:
            print(f"{name}: PyTorch {before[0]}, libshpool {after[0]}: {after[1] or before[1]}")
            worse += before[0] == "passed" and after[0] in BAD
        elif before[0] in BAD:
            print(f"{name}: {before[0]} with both: {before[1]}")
    for name, results in (("PyTorch", native), ("libshpool", ours)):
        words = [row[0] for row in results.values()]
        longest = sorted(results, key=lambda test: -results[test][2])[:5]
        print(name, ", ".join(f"{words.count(word)} {word}" for word in sorted(set(words))) + ";",
              ", ".join(f"{test} {results[test][2]:.1f} s" for test in longest))
    return worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("path")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--only", default=NAMES)
    parser.add_argument("--without", default="")
    parser.add_argument("--turn", default="")
    args = parser.parse_args()
    if args.without:
        worker(args.path, args.only, json.loads(args.without), args.turn)
        return
    pytorch_programs.need_gpu()
    results, end = ({}, {}), time.monotonic() + args.seconds
    with tempfile.NamedTemporaryFile() as turn, concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda ours: run(args, ours, results[ours], end, turn.name), (0, 1)))
    if not all(results):
        sys.exit("no test has ended: --seconds is too short, or --only names none")
    sys.exit(1 if report(*results) else 0)


if __name__ == "__main__":
    main()
