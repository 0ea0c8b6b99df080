# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch and CuPy over libshpool, on a GPU: python3 tests/gpu/python/pytorch.py

Each check runs in a process of its own, because an allocator is chosen before CUDA begins, and all
run at once.  Prints a line for each.  The package shpool is on PYTHONPATH or installed.  Exit: 0;
1: a check failed; 77: no PyTorch or no GPU.
"""
import concurrent.futures
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import pytorch_programs

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = 240  # of a check
EXAMPLES = os.path.join(HERE, "..", "..", "..", "examples")


def require(condition, text):
    if not condition:
        print("FAIL", text)
        sys.exit(1)


def run_program(path, *options):
    os.execv(sys.executable, [sys.executable, path, *options])


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


def check_distributed():
    """DDP, FSDP and NCCL, as far as one GPU goes."""
    import torch
    from torch import distributed
    import shpool.torch

    shpool.torch.enable()
    distributed.init_process_group("nccl", store=distributed.HashStore(), rank=0, world_size=1)
    from torch.distributed.fsdp import fully_shard
    for wrap in (torch.nn.parallel.DistributedDataParallel, fully_shard):
        model = wrap(torch.nn.Linear(64, 64).cuda())
        model(torch.ones(8, 64, device="cuda")).sum().backward()
        for parameter in model.parameters():
            grad = getattr(parameter.grad, "full_tensor", lambda: parameter.grad)()
            require(bool((grad == 8).all()), f"{wrap.__name__}: a wrong gradient")
    nccl = distributed.group.WORLD._get_backend(torch.device("cuda"))
    pool = torch.cuda.MemPool()  # nccl.mem_allocator needs GPUs that NVLink's switch connects
    with torch.cuda.use_mem_pool(pool):
        registered = torch.ones(1 << 20, device="cuda")
    nccl.register_mem_pool(pool)
    for x in registered, torch.ones(1 << 20, device="cuda"):
        distributed.all_reduce(x)
        require(float(x.sum()) == 1 << 20, "a wrong sum")
    nccl.deregister_mem_pool(pool)
    distributed.destroy_process_group()


def check_two_processes():
    run_program(os.path.join(HERE, "pytorch_two.py"))


def check_training_is_the_same():
    run_program(os.path.join(EXAMPLES, "torch_train.py"), "--steps", "60")


def check_cupy():
    run_program(os.path.join(EXAMPLES, "cupy_example.py"))


def check_whole():
    code = subprocess.run([sys.executable, os.path.join(HERE, "pytorch_whole.py")],
                          check=False).returncode
    require(code != 77 or shutil.which("c++") is None, "the C++ part is not used")
    sys.exit(code)


CHECKS = {name[len("check_"):]: function for name, function in list(globals().items())
          if name.startswith("check_")}


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        CHECKS[sys.argv[2]]()
        return
    pytorch_programs.need_gpu()
    import torch

    def run(name):
        begin = time.monotonic()
        process = subprocess.Popen([sys.executable, __file__, "--check", name],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            text, code = process.communicate(timeout=SECONDS)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # with every process that it has started
            text, code = process.communicate()[0], f"no end after {SECONDS} s"
        return text.decode(errors="replace").rstrip(), code, time.monotonic() - begin

    with concurrent.futures.ThreadPoolExecutor(len(CHECKS)) as threads:
        every = list(threads.map(run, CHECKS))
    words = []
    for name, (text, code, seconds) in zip(CHECKS, every):
        word = {0: "ok", 77: "skip"}.get(code, "FAIL")
        words.append(word)
        print(f"{word:4} {name}, {seconds:.1f} s{f', exit {code}' if code else ''}")
        if text:
            print("     " + "\n     ".join(text.splitlines()[-60:]))
    print(*(f"{words.count(word)} {word}" for word in sorted(set(words))), sep=", ", end="; ")
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name(0)}")
    sys.exit("FAIL" in words)


if __name__ == "__main__":
    main()
