# SPDX-License-Identifier: BSD-3-Clause
"""Peak memory of PyTorch programs with PyTorch's own allocator and with libshpool in its place.

    python3 tests/gpu/python/pytorch_peak.py [--steps 60] [--repeats 3] [--modes native,bins]
                                      [--log LOG] [--out FOLDER] [--record FOLDER]

Four programs: a small transformer, trained with sequences of one length, and with lengths that
change from step to step; convolutions, with image sizes and batches that change; key-value caches
of many sequences, which grow and go.  Four allocators: PyTorch's own, the same with expandable
segments, `bins`, and `bins` over cuMemAlloc; --modes has names of these, or specs of libshpool.
Each has processes of its own, which take turns.  For each: the most bytes that it held from the
driver, the most that were allocated from it, and the median time of a step.  With --log, a log of
the layer `log` is run against PyTorch's allocator, too: `shpool-bench memory --replay` does the
same for ours.  With --record, nothing is compared: FOLDER gets such a log of each program,
NAME.csv.  Prints a line for each; with --out also writes gpu_torch_peak.json.  Exit: 0; 1: `bins`
held more than PyTorch's own; 77: no PyTorch or no GPU.
"""
import argparse
import gc
import json
import os
import subprocess
import sys
import time

LENGTHS = {"fixed": [320], "varied": [128 + 32 * (i * 7 % 13) for i in range(13)]}
# additions to a process's environment; other modes are specs of libshpool
MODES = {
    "native": {},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "bins": {"SHPOOL_DEVICE_ALLOCATOR": "bins"},
    "driver": {"SHPOOL_DEVICE_ALLOCATOR": "bins:memory=driver"},
}


def environment(mode):
    return dict(os.environ, **MODES.get(mode, {"SHPOOL_DEVICE_ALLOCATOR": mode}))


def enable(torch, mode):
    """Choose the allocator of this process, whose environment is that of the mode."""
    if mode not in ("native", "expandable"):
        import shpool.torch
        shpool.torch.enable()
    torch.zeros(1, device="cuda")


def make_model(torch):
    layer = torch.nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    return torch.nn.Sequential(
        torch.nn.Embedding(8000, 512), torch.nn.TransformerEncoder(layer, 8),
        torch.nn.Linear(512, 8000)).cuda()


def timed(torch, steps, step):
    """Median time of a step, ms."""
    times = []
    for i in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(i)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times)[len(times) // 2]


def transformer(torch, lengths):
    """A function that trains for a step, of a number."""
    model = make_model(torch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(i):
        words = torch.randint(8000, (16, lengths[i % len(lengths)]), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
        loss.backward()
        optimizer.step()

    return step


def images_step(torch, batch_of):
    """Convolutions: height, width and batch change from step to step."""
    nn = torch.nn
    layers = []
    for before, after in ((3, 64), (64, 128), (128, 256), (256, 256)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                   nn.Conv2d(after, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step(i):
        batch = batch_of(i)
        high, wide = 96 + 32 * (i * 7 % 9), 96 + 32 * (i * 11 % 9)
        seen = torch.randn(batch, 3, high, wide, device="cuda")
        named = torch.randint(100, (batch,), device="cuda")
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(seen), named)
        loss.backward()
        optimizer.step()

    return step


def images(torch):
    return images_step(torch, lambda i: 8 + 4 * (i * 5 % 7))


def caches(torch):
    """Keys and values of 48 sequences and 8 layers: each step they grow, and some end."""
    ends = [64 * (4 + i * 37 % 61) for i in range(997)]
    sequences = {i: [torch.zeros(2, 64, 1024, device="cuda") for _ in range(8)] for i in range(48)}
    begun = len(sequences)

    def step(_):
        nonlocal begun
        for key in list(sequences):
            for layer, old in enumerate(sequences[key]):
                new = torch.empty(2, old.shape[1] + 64, 1024, device="cuda")
                new[:, :old.shape[1]] = old
                sequences[key][layer] = new
                del old
            if sequences[key][0].shape[1] >= ends[key % len(ends)]:
                del sequences[key]
                sequences[begun] = [torch.zeros(2, 64, 1024, device="cuda") for _ in range(8)]
                begun += 1

    return step


PROGRAMS = {
    "fixed": lambda torch: transformer(torch, LENGTHS["fixed"]),
    "varied": lambda torch: transformer(torch, LENGTHS["varied"]),
    "images": images,
    "caches": caches,
}
SHORT = 4  # times as many steps of the caches: they are short


def begin(torch):
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def peaks(torch):
    """Bytes that were held from the driver, and that were allocated, at most."""
    return torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()


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
    found = peaks(torch)
    for pointer in live.values():
        torch.cuda.caching_allocator_delete(pointer)
    return found


def run_one(args):
    import torch

    enable(torch, args.mode)
    results = {}
    for name, program in PROGRAMS.items():
        if args.program not in ("", name):
            continue
        torch.manual_seed(1)
        begin(torch)
        median = timed(torch, args.steps * (SHORT if name == "caches" else 1), program(torch))
        held, live = peaks(torch)
        results[name] = {"held": held, "live": live, "step_ms": median}
        gc.collect()
    if args.mode == "native" and args.log:
        begin(torch)
        held, live = replay(torch, args.log)
        results["log"] = {"held": held, "live": live, "step_ms": 0.0}
    print(json.dumps(results))


def run_mode(args, mode):
    command = [sys.executable, __file__, "--mode", mode, "--steps", str(args.steps),
               "--log", args.log]
    done = subprocess.run(command, env=environment(mode), stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{mode}: exit {done.returncode}")
    return json.loads(done.stdout.decode().strip().splitlines()[-1])


def record(args):
    """A log of each program, which the layer `log` writes in a process of its own."""
    for name in PROGRAMS:
        path = os.path.join(args.record, name + ".csv")
        spec = f"log:file={path}|bins"
        command = [sys.executable, __file__, "--mode", spec, "--steps", str(args.steps),
                   "--program", name]
        done = subprocess.run(command, env=environment(spec), stdout=subprocess.DEVNULL,
                              check=False)
        if done.returncode != 0:
            sys.exit(f"{name}: exit {done.returncode}")
        print(f"{path}: {os.path.getsize(path)} bytes")


def summary(runs):
    """Of some runs of one program: the most bytes, and the median of the medians."""
    times = sorted(row["step_ms"] for row in runs)
    return {"held": max(row["held"] for row in runs), "live": max(row["live"] for row in runs),
            "step_ms": times[len(times) // 2], "step_ms_each": times}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--log", default="")
    parser.add_argument("--out", default="")
    parser.add_argument("--record", default="")
    parser.add_argument("--program", choices=tuple(PROGRAMS) + ("",), default="")
    parser.add_argument("--modes", default=",".join(MODES))
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

    if args.record:
        record(args)
        return
    runs = {mode: [] for mode in args.modes.split(",")}
    for _ in range(args.repeats):
        for mode, done in runs.items():
            done.append(run_mode(args, mode))
    results = {mode: {name: summary([run[name] for run in done]) for name in done[0]}
               for mode, done in runs.items()}
    for mode, rows in results.items():
        for name, row in rows.items():
            print("%-10s %-6s held %8.1f MiB, allocated %8.1f MiB, held/allocated %.3f, "
                  "step %.2f ms" % (mode, name, row["held"] / 2**20, row["live"] / 2**20,
                     row["held"] / max(row["live"], 1), row["step_ms"]))
    more = [name for name in PROGRAMS if {"bins", "native"} <= set(results) and
            results["bins"][name]["held"] > results["native"][name]["held"]]
    if args.out:
        with open(os.path.join(args.out, "gpu_torch_peak.json"), "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if more else 0)


if __name__ == "__main__":
    main()
