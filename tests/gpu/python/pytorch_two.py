# SPDX-License-Identifier: BSD-3-Clause
"""Two processes that train together: DDP and FSDP; on two GPUs also NCCL's collectives, copies
between devices, and DataParallel.

    python3 tests/gpu/python/pytorch_two.py

with PyTorch's own allocator; with libshpool; and with libshpool and
TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK=1, which enable() removes from the environment.  All
three run at once.  With one GPU both processes use it, through gloo, because NCCL refuses that.
Prints the last losses and the most reserved bytes.  Exit: 0; 1: a wrong result, a process that does
not end, or losses that do not agree to five digits; 77: no PyTorch or no GPU.
"""
import concurrent.futures
import datetime
import faulthandler
import json
import math
import os
import subprocess
import sys
import tempfile

import pytorch_programs

HOOK = "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
CASES = {"native": {}, "libshpool": {}, HOOK: {HOOK: "1"}}
STEPS = 20
WAIT = datetime.timedelta(seconds=50)  # for a collective
SECONDS = 80  # of a rank, which then says where it is and ends, also in NCCL or the driver


def enable(case):
    if case != "native":
        import shpool.torch
        shpool.torch.enable()


# ---- one process, both devices ----

def copies(torch):
    a = torch.arange(10 << 20, device="cuda:0")
    assert torch.equal((a.to("cuda:1") + 1).to("cuda:0"), a + 1), "a copy there and back"
    stream = torch.cuda.Stream("cuda:1")
    with torch.cuda.device(1), torch.cuda.stream(stream):
        b = a.to("cuda:1", non_blocking=True) * 2
        b.record_stream(stream)
    stream.synchronize()
    assert torch.equal(b.cpu(), a.cpu() * 2), "a copy on another stream"


def data_parallel(torch):
    model = torch.nn.DataParallel(torch.nn.Linear(64, 64).cuda())
    model(torch.ones(8, 64, device="cuda")).sum().backward()
    assert bool((model.module.weight.grad == 8).all()), "DataParallel's gradient"


# ---- a process for each device ----

def collectives(torch, distributed, rank):
    for n in (1, 1000, 50 << 20):
        x = torch.full((n,), rank + 1.0, device="cuda")
        distributed.all_reduce(x)
        assert bool((x == 3).all()), ("all_reduce", n)
        parts = [torch.empty(n, device="cuda") for _ in range(2)]
        distributed.all_gather(parts, torch.full((n,), float(rank), device="cuda"))
        assert all(bool((part == i).all()) for i, part in enumerate(parts)), ("all_gather", n)
        out = torch.empty(n, device="cuda")
        distributed.reduce_scatter_tensor(out, torch.ones(2 * n, device="cuda"))
        assert bool((out == 2).all()), ("reduce_scatter_tensor", n)
        y = torch.arange(n, device="cuda") * (1 - rank)
        distributed.broadcast(y, 0)
        assert torch.equal(y, torch.arange(n, device="cuda")), ("broadcast", n)
        if rank == 0:
            distributed.send(y, 1)
        else:
            distributed.recv(y.zero_(), 0)
            assert torch.equal(y, torch.arange(n, device="cuda")), ("recv", n)


def wrapped(torch, kind):
    from torch.distributed.fsdp import fully_shard

    torch.manual_seed(1)
    layers = [torch.nn.TransformerEncoderLayer(256, 4, 1024, 0.0, batch_first=True)
              for _ in range(4)]
    model = torch.nn.Sequential(torch.nn.Embedding(1000, 256), *layers,
                                torch.nn.Linear(256, 1000)).cuda()
    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(
            model, device_ids=[torch.cuda.current_device()])
    for layer in model[1:5]:
        fully_shard(layer)
    return fully_shard(model)


def train(torch, distributed, kind, rank):
    """The losses, of both ranks together."""
    model = wrapped(torch, kind)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    generator = torch.Generator().manual_seed(7)
    losses = []
    for _ in range(STEPS):
        length = int(torch.randint(16, 512, (1,), generator=generator))
        words = torch.randint(0, 1000, (2, 8, length), generator=generator)[rank].cuda()
        loss = torch.nn.functional.cross_entropy(model(words).flatten(0, 1), words.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total = loss.detach().clone()
        distributed.all_reduce(total)
        losses.append(float(total) / 2)
    return losses


def work(rank, case, store):
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    import torch
    from torch import distributed

    os.environ.update(CASES[case])  # enable() has removed it from the parent's
    are_two = torch.cuda.device_count() > 1
    device = torch.device("cuda", rank if are_two else 0)
    torch.cuda.set_device(device)
    enable(case)
    assert case == "native" or HOOK not in os.environ, "NCCL would register libshpool's memory"
    torch.use_deterministic_algorithms(True, warn_only=True)
    distributed.init_process_group("nccl" if are_two else "gloo", init_method="file://" + store,
                                   rank=rank, world_size=2, timeout=WAIT,
                                   device_id=device if are_two else None)
    found = {}
    for kind in ("ddp", "fsdp"):
        if are_two:
            collectives(torch, distributed, rank)
        torch.cuda.empty_cache()  # unmaps memory that NCCL has used
        torch.cuda.reset_peak_memory_stats()
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            found[kind] = [train(torch, distributed, kind, rank),
                           torch.cuda.max_memory_reserved()]
    if rank == 0:
        print("@" + json.dumps(found), flush=True)
    distributed.destroy_process_group()


def run_one(case):
    faulthandler.dump_traceback_later(SECONDS + 20, exit=True)  # pytorch.py waits for 120 s
    import torch
    from torch import multiprocessing

    enable(case)
    if torch.cuda.device_count() > 1:
        copies(torch)
        data_parallel(torch)
    with tempfile.TemporaryDirectory(prefix="shpool-two.") as folder:
        multiprocessing.spawn(work, (case, os.path.join(folder, "store")), nprocs=2)


# ---- the three cases ----

def start(case):
    """The losses and reserved bytes of both kinds; or None, and what was said."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), case],
                          env=dict(os.environ, CUBLAS_WORKSPACE_CONFIG=":4096:8", **CASES[case]),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode(errors="replace")
    lines = [line for line in text.splitlines() if line.startswith("@")]
    return (json.loads(lines[0][1:]) if done.returncode == 0 and lines else None), text


def report(results):
    """The number of cases that went wrong."""
    wrong = 0
    expected = results["native"][0]
    for case, (found, text) in results.items():
        good = found is not None and (case != HOOK or f"{HOOK}=1 has no effect" in text)
        for kind, (losses, reserved) in (found or {}).items():
            print(f"{case}: {kind}, last loss {losses[-1]:.6g}, {reserved >> 20} MiB reserved")
            good = good and (expected is None or all(
                math.isclose(one, other, rel_tol=1e-5)
                for one, other in zip(losses, expected[kind][0])))
        if not good:
            print(f"FAIL {case}", *text.splitlines()[-60:], sep="\n")
        wrong += not good
    return wrong


def main():
    if len(sys.argv) == 2 and sys.argv[1] in CASES:
        run_one(sys.argv[1])
        return
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    pytorch_programs.need_gpu()
    import torch

    if torch.cuda.device_count() < 2:
        print("one GPU: nothing is said about NCCL and copies between devices")
    with concurrent.futures.ThreadPoolExecutor(len(CASES)) as threads:
        results = dict(zip(CASES, threads.map(start, CASES)))
    sys.exit(1 if report(results) else 0)


if __name__ == "__main__":
    main()
