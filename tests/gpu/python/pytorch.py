# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch and CuPy over libshpool, on a GPU: python3 tests/gpu/python/pytorch.py [OUT_FOLDER]

Each check runs in a process of its own, because an allocator is chosen before CUDA begins.  Prints
a line for each; with OUT_FOLDER also writes gpu_torch.json.  The package shpool is on PYTHONPATH or
installed.  Exit: 0; 1: a check failed; 77: no PyTorch or no GPU.
"""
import concurrent.futures
import ctypes
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples")


def require(condition, text):
    if not condition:
        print("FAIL", text)
        sys.exit(1)


# ---- checks ----

def check_oom_in_a_pool_is_an_exception():
    """MemPool mode: NULL becomes torch.OutOfMemoryError, and the process goes on."""
    import torch
    import shpool.torch

    pool = shpool.torch.mem_pool()
    error = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)
    with torch.cuda.use_mem_pool(pool):
        try:
            torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
            require(False, "a petabyte was allocated")
        except error:
            pass
        x = torch.ones(1000, device="cuda")
        require(float(x.sum()) == 1000, "the allocation after the failed one is bad")


def check_empty_cache_gives_memory_back():
    import torch
    import shpool.torch

    shpool.torch.enable()
    x = torch.ones(64 << 20, device="cuda")  # 256 MiB
    require(shpool.torch.stats(0).live_bytes >= 256 << 20, "256 MiB are not live")
    del x
    torch.cuda.synchronize()
    require(shpool.torch.stats(0).idle_bytes >= 256 << 20, "256 MiB are not idle")
    torch.cuda.empty_cache()
    require(shpool.torch.stats(0).driver_bytes < 64 << 20, "empty_cache gave nothing back")


def check_memory_stats():
    """The names of torch.cuda.memory_stats() with our numbers."""
    os.environ["SHPOOL_DEVICE_ALLOCATOR"] = "stats|bins"
    import torch
    import shpool.torch

    shpool.torch.enable()
    x = torch.ones(16 << 20, device="cuda")  # 64 MiB
    found = shpool.torch.memory_stats(0)
    require(found["allocated_bytes.all.current"] >= 64 << 20, "64 MiB are not allocated")
    require(found["reserved_bytes.all.current"] >= found["allocated_bytes.all.current"],
            "less is reserved than allocated")
    require(found["allocation.all.allocated"] - found["allocation.all.freed"] ==
            found["allocation.all.current"], "allocations minus frees are not what is live")
    del x
    require(shpool.torch.memory_stats(0)["allocated_bytes.all.peak"] >= 64 << 20, "no peak")
    shpool.torch.reset_peak_memory_stats(0)
    require(shpool.torch.memory_stats(0)["allocated_bytes.all.peak"] < 64 << 20, "the peak stays")


def reuse_across_streams(record):
    """A slow stream reads x, which is dropped and whose memory the main stream then writes."""
    import torch
    import shpool.torch

    shpool.torch.enable()
    side = torch.cuda.Stream()
    wrong = 0
    for _ in range(20):
        x = torch.full((1 << 20,), 1.0, device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.cuda._sleep(20_000_000)  # about 10 ms
            total = x.sum()
        if record:
            x.record_stream(side)
        del x
        y = torch.full((1 << 20,), 2.0, device="cuda")
        torch.cuda.synchronize()
        wrong += float(total) != 1 << 20
        del y
    return wrong


def check_record_stream_keeps_memory():
    require(reuse_across_streams(True) == 0, "memory was reused under a running stream")


def check_without_record_stream_it_is_reused():
    """The check above can fail: without the record the memory is handed out at once."""
    require(reuse_across_streams(False) > 0, "the race that record_stream ends is not there")


def check_mem_pool_after_enable_is_a_clear_error():
    import shpool.torch

    shpool.torch.enable()
    try:
        shpool.torch.mem_pool()
        require(False, "a pool under an allocator that does not divide it")
    except shpool.Error as error:
        require("one of the two" in str(error), str(error))


def check_graphs_replay():
    import torch
    import shpool.torch

    shpool.torch.enable()
    x = torch.zeros(1 << 20, device="cuda")
    (x * 3 + 1).sum()  # warm
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x * 3 + 1) * (x - 2)
    noise = [torch.full((1 << 20,), 9.0, device="cuda") for _ in range(8)]
    for value in range(1, 6):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        require(bool((y == (value * 3 + 1) * (value - 2)).all()), f"replay {value} is wrong")
        require(all(bool((n == 9).all()) for n in noise), "a replay wrote into other memory")
    del y, graph


def check_fraction_and_base():
    """By the functions themselves: PyTorch does not look at NULL in replacement mode."""
    import torch
    import shpool.torch

    torch.cuda.init()
    lib = shpool._c.lib()
    total = torch.cuda.get_device_properties(0).total_memory
    lib.shpool_torch_memory_fraction(0.05, 0)
    small = lib.shpool_torch_malloc(1 << 20, 0, None)
    require(small, "1 MiB under a fraction of 0.05")
    require(not lib.shpool_torch_malloc(total // 10, 0, None), "a tenth under a fraction of 0.05")
    require(b"memory fraction" in lib.shpool_last_error(), "the detail does not name the fraction")
    size = ctypes.c_size_t()
    base = lib.shpool_torch_base_alloc(small, ctypes.byref(size))
    require(base and base <= small and small + (1 << 20) <= base + size.value, "base_alloc")
    lib.shpool_torch_free(small, 0, 0, None)


def receive_sum(connection):
    """The other process: its own CUDA, PyTorch's own allocator."""
    connection.send(float(connection.recv().sum()))


def sum_elsewhere(tensor):
    import torch.multiprocessing as mp

    context = mp.get_context("spawn")
    here, there = context.Pipe()
    child = context.Process(target=receive_sum, args=(there,))
    child.start()
    try:
        here.send(tensor)
        return here.recv() if here.poll(120) else None
    finally:
        child.join(10)
        child.kill()


def require_refused(tensor):
    from multiprocessing.reduction import ForkingPickler
    import torch.multiprocessing  # registers how tensors are sent

    try:
        ForkingPickler.dumps(tensor)
        require(False, "torch.multiprocessing took a tensor in libshpool's memory")
    except RuntimeError as error:
        require("tensor.cpu()" in str(error), str(error))


def check_multiprocessing_is_a_clear_error():
    import torch
    import shpool.torch

    shpool.torch.enable()
    for n in (1000, 8 << 20):
        x = torch.ones(n, device="cuda")
        require_refused(x)
        require(sum_elsewhere(x.cpu()) == n, "the copy did not arrive")


def check_multiprocessing_beside_a_pool():
    """A tensor in the pool is refused, one outside of it arrives."""
    import torch
    import shpool.torch

    pool = shpool.torch.mem_pool()
    with torch.cuda.use_mem_pool(pool):
        ours = [torch.ones(n, device="cuda") for n in (1000, 8 << 20, 8 << 20)]
    for x in ours:
        require_refused(x)
    require(sum_elsewhere(torch.ones(1000, device="cuda")) == 1000, "a tensor did not arrive")


def check_many_threads():
    """Threads with streams of their own, each element checked."""
    import threading
    import torch
    import shpool.torch

    shpool.torch.enable()
    torch.zeros(1, device="cuda")
    failures = []

    def work(number):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for i in range(300):
                n = 1 + (i * 7919 + number * 104729) % 100_000
                x = torch.full((n,), float(number), device="cuda")
                y = x * 2
                if float(y.sum()) != 2.0 * number * n:
                    failures.append((number, i))

    threads = [threading.Thread(target=work, args=(t,)) for t in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    require(not failures, f"wrong sums: {failures[:3]}")


def check_without_a_compiler_a_warning_says_so():
    """C functions then do what they can."""
    import tempfile
    import warnings
    import torch
    import shpool.torch

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        os.environ.update(SHPOOL_CACHE_DIR=folder, PATH="/nowhere", CXX="",
                          PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,"
                                                  "pinned_use_background_threads:True")
        shpool.torch.enable()
    text = " ".join(str(one.message) for one in said)
    require("no C++ compiler" in text, text)
    require("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True has no effect" in text, text)
    require(torch.cuda.get_allocator_backend() == "pluggable", "not PyTorch's pluggable allocator")
    require(float(torch.ones(1000, device="cuda").sum()) == 1000, "a wrong sum")


def check_variable_with_sitecustomize():
    import tempfile

    code = ("import torch, shpool.torch\nx = torch.ones(1 << 20, device='cuda')\n"
            "print(torch.cuda.get_allocator_backend(), shpool.torch.stats().live_bytes >= 4 << 20)")
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write('import os; os.environ.get("SHPOOL_TORCH") == "1" and '
                       '__import__("shpool.auto")\n')
        path = folder + os.pathsep + os.environ.get("PYTHONPATH", "")
        for value, expected in (("1", "shpool True"), ("0", "native False")):
            environment = dict(os.environ, PYTHONPATH=path, SHPOOL_TORCH=value)
            done = subprocess.run([sys.executable, "-c", code], env=environment,
                                  stdout=subprocess.PIPE, check=True)
            require(done.stdout.decode().strip() == expected, done.stdout.decode())


def check_training_is_the_same():
    done = subprocess.run(
        [sys.executable, os.path.join(EXAMPLES, "torch_train.py")],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout.decode().rstrip())
    sys.exit(done.returncode)


def check_cupy():
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, "cupy_example.py")],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    print(done.stdout.decode().rstrip())
    sys.exit(done.returncode)


CHECKS = {name[len("check_"):]: function for name, function in list(globals().items())
          if name.startswith("check_")}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        CHECKS[sys.argv[2]]()
        return
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)

    results = {}

    def run(name):
        return subprocess.run([sys.executable, __file__, "--check", name],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as threads:
        every = list(threads.map(run, CHECKS))
    for name, done in zip(CHECKS, every):
        word = {0: "ok", 77: "skip"}.get(done.returncode, "FAIL")
        text = done.stdout.decode().rstrip()
        results[name] = {"result": word, "text": text}
        print(f"{word:4} {name}")
        if text:
            print("     " + "\n     ".join(text.splitlines()[-8:]))
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    if len(sys.argv) > 1:
        with open(os.path.join(sys.argv[1], "gpu_torch.json"), "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if any(r["result"] == "FAIL" for r in results.values()) else 0)


if __name__ == "__main__":
    main()
