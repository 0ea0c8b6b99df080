# SPDX-License-Identifier: BSD-3-Clause
"""Train a small model with PyTorch's own allocator, with libshpool in its place, and with libshpool
under a MemPool, and compare: the losses are the same to the last bit.

    python3 torch_train.py [--steps 200] [--mode all]

Prints a line for each mode: the last loss, the time of a step, and what libshpool served.  Exit: 0;
1: losses differ, or libshpool served nothing; 77: no PyTorch or no GPU.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys
import time

MODES = ("native", "replace", "pool")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--mode", choices=MODES + ("all",), default="all")
    return parser.parse_args()


def train(torch, steps):
    """Losses of all steps, and the median time of one in ms; batch and memory sizes vary."""
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    if hasattr(torch.utils, "deterministic"):
        torch.utils.deterministic.fill_uninitialized_memory = False  # would be timed, too
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, stride=2, padding=1), torch.nn.ReLU(),
        torch.nn.Conv2d(16, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(32 * 16 * 16, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses, times = [], []
    for step in range(steps):
        batch = 32 + 8 * (step * 7 % 13)
        x = torch.randn(batch, 3, 32, 32, device="cuda")
        y = torch.randint(10, (batch,), device="cuda")
        torch.cuda.synchronize()
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
        losses.append(loss.item())
    return losses, sorted(times)[len(times) // 2]


def run_one(mode, steps):
    """Runs in a process of its own, because the allocator is set before CUDA is initialised."""
    import torch
    import shpool.torch

    under = contextlib.nullcontext()
    if mode == "replace":
        shpool.torch.enable()
    if mode == "pool":
        pool = shpool.torch.mem_pool()
        under = torch.cuda.use_mem_pool(pool)
    with under:
        losses, median = train(torch, steps)
    result = {"mode": mode, "losses": [loss.hex() for loss in losses], "step_ms": median,
              "last": losses[-1]}
    if mode != "native":
        stats = shpool.torch.stats(0)
        result.update(mallocs=stats.mallocs, driver_mallocs=stats.driver_mallocs,
                      driver_bytes_peak=stats.driver_bytes_peak)
    print(json.dumps(result))


def run_in_process(mode, args):
    environment = dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8")
    done = subprocess.run(
        [sys.executable, __file__, "--mode", mode, "--steps", str(args.steps)],
        env=environment, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{mode}: exit {done.returncode}")
    return json.loads(done.stdout.decode().strip().splitlines()[-1])


def main():
    args = parse()
    try:
        import torch
    except ImportError:
        print("skipped: no PyTorch")
        sys.exit(77)
    if args.mode != "all":
        run_one(args.mode, args.steps)
        return
    if not torch.cuda.is_available():
        print("skipped: no GPU")
        sys.exit(77)

    results = [run_in_process(mode, args) for mode in MODES]
    failed = False
    for result in results:
        same = result["losses"] == results[0]["losses"]
        served = result["mode"] == "native" or result["mallocs"] > 0
        failed = failed or not same or not served
        print("%-8s last loss %.9f  %s  step %.3f ms  %s" % (
            result["mode"], result["last"], "equal" if same else "DIFFERENT", result["step_ms"],
            "" if result["mode"] == "native" else "%d mallocs, %d of the driver" % (
                result["mallocs"], result["driver_mallocs"])))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
