# SPDX-License-Identifier: BSD-3-Clause
"""Pools in kernels of Numba, CuPy and PyTorch, on a GPU:

    python3 tests/gpu/python/pools.py [CHECK...]

Also runs the Python lines that doc/PYTHON.md, NUMBA.md and the others begin with.  CHECK is the
beginning of a name.  Each check runs in a process of its own; the package shpool is on PYTHONPATH
or installed.  Prints a line for each.  Exit: 0; 1: a check failed; 77: no GPU.
"""
import os
import re
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..", "..")
PAGES = ("PYTHON", "NUMBA", "CUPY", "PYTORCH", "PYTORCH-OPERATORS")
SECONDS = 300
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # of blocks that are few


def require(condition, text):
    if not condition:
        print("FAIL", text)
        sys.exit(1)


def need(*modules):
    """Skip the check where one is missing."""
    for module in modules:
        try:
            __import__(module)
        except ImportError as reason:
            print(f"skipped: {reason}")
            sys.exit(77)


def run(*command):
    done = subprocess.run([sys.executable, *command], cwd=TOP, timeout=SECONDS, check=False)
    sys.exit(done.returncode)


def filling(cuda, pools, kind):
    """A kernel: each thread fills an array of its own length, and adds it up after a barrier."""
    @cuda.jit
    def kernel(pool, out):
        heap = pools.init(pool)
        t = cuda.threadIdx.x
        row = pools.malloc(heap, t % 7 + 1, kind)
        for k in range(row.size):
            row[k] = t + k
        cuda.syncthreads()
        total = 0
        for k in range(row.size):
            total += row[k]
        out[cuda.grid(1)] = total
        pools.free(heap, row)
        pools.fini(heap)

    return kernel


def sums(threads, blocks):
    import numpy

    return numpy.array([sum(t + k for k in range(t % 7 + 1)) for t in range(threads)] * blocks)


# ---- checks ----

def check_numba_every_allocator():
    """One kernel, each allocator by its name; large pools too, and none is left behind."""
    need("shpool.numba")
    import numpy
    import shpool
    import shpool.numba as pools
    from numba import cuda, float32

    kernel = filling(cuda, pools, float32)
    for name in shpool.allocators():
        if name in ("null", "native", "cluster_bitmap"):
            continue  # nothing to give; CUDA's heap; clusters
        for payload in (16 * 1024, 100 * 1024):
            with shpool.open(name, block_threads=128, payload_bytes=payload,
                             check=name != "arena") as pool:
                out = cuda.to_device(numpy.zeros(3 * 128, dtype=numpy.int64))
                kernel[3, 128, 0, pool.shared_bytes](pool, out)
                require((out.copy_to_host() == sums(128, 3)).all(), f"{name}: wrong sums")
                if pool.counted:
                    report = pool.report()
                    require((report.mallocs, report.live, report.blocks) == (384, 0, 3),
                            f"{name}: {report}")


def check_numba_without_room():
    """NULL is an array without elements; spill=arena has room."""
    need("shpool.numba")
    import numpy
    import shpool
    import shpool.numba as pools
    from numba import cuda, float32

    @cuda.jit
    def sizes(pool, out):
        heap = pools.init(pool)
        row = pools.malloc(heap, 1000, float32)
        out[cuda.threadIdx.x] = row.size
        if row.size:
            row[999] = 1
        none = pools.malloc(heap, 1 << 62, float32)
        if none.size:
            out[0] = -1
        none = pools.malloc(heap, -1, float32)
        if none.size:
            out[0] = -2
        cuda.syncthreads()
        pools.free(heap, row)
        pools.fini(heap)

    for options, served in (({}, 1), ({"spill": "arena"}, 32)):
        with shpool.open("bitmap", block_threads=32, payload_bytes=4096, stats=True,
                         spill_bytes=256 * 1024 if options else 0, **options) as pool:
            out = cuda.to_device(numpy.zeros(32, dtype=numpy.int64))
            sizes[1, 32, 0, pool.shared_bytes](pool, out)
            got = sorted(out.copy_to_host().tolist(), reverse=True)
            require(got == [1000] * served + [0] * (32 - served), f"{options}: {got}")


def check_numba_wrong_launch():
    """Too little shared memory gives empty heaps, and the report says why."""
    need("shpool.numba")
    import numpy
    import shpool
    import shpool.numba as pools
    from numba import cuda, float32

    kernel = filling(cuda, pools, float32)
    with shpool.open("bitmap", block_threads=64, payload_bytes=8192, stats=True) as pool:
        out = cuda.to_device(numpy.ones(64, dtype=numpy.int64))
        kernel[1, 64, 0, 1024](pool, out)
        require((out.copy_to_host() == 0).all(), "memory from a heap that has none")
        report = pool.report()
        require(report.empty == 1 and shpool._c.STATUS[report.status] == "LAUNCH", str(report))


def check_numba_bad_free():
    """A double free is refused in every mode, and counted with check."""
    need("shpool.numba")
    import shpool
    import shpool.numba as pools
    from numba import cuda, float32

    @cuda.jit
    def twice(pool):
        heap = pools.init(pool)
        row = pools.malloc(heap, 8, float32)
        if cuda.threadIdx.x == 5:
            pools.free(heap, row)
        pools.free(heap, row)
        pools.fini(heap)

    with shpool.open("bitmap", block_threads=32, payload_bytes=8192, check=True) as pool:
        twice[1, 32, 0, pool.shared_bytes](pool)
        report = pool.report()
        require(report.bad_frees == 1 and report.bad_free[0].thread == 5, str(report))


def check_numba_groups():
    """The family: warps, blocks, device functions, a region in a static array, realloc."""
    need("shpool.numba")
    import numpy
    import shpool
    import shpool.numba as pools
    from numba import cuda, float32, int32, uint8

    @cuda.jit(device=True)
    def reversed_in_warp(heap, t):
        mine = pools.malloc_warp(heap, 32, float32)
        mine[t % 32] = t
        cuda.syncwarp()
        value = mine[31 - t % 32]
        cuda.syncwarp()
        pools.free_warp(heap, mine)
        return value

    @cuda.jit
    def kernel(pool, out):
        region = cuda.shared.array(16384, uint8, 16)
        heap = pools.init_at(pool, region)
        t = cuda.threadIdx.x
        mine = reversed_in_warp(heap, t)
        block = pools.malloc_block(heap, 64, int32)
        block[t] = int32(mine)
        cuda.syncthreads()
        row = pools.calloc(heap, 2, int32)
        row[1] = block[63 - t]
        row = pools.realloc(heap, row, 20)
        out[t] = row[0] + row[1]
        pools.free(heap, row)
        cuda.syncthreads()
        pools.free_block(heap, block)
        pools.fini(heap)

    with shpool.open("bitmap", block_threads=64, payload_bytes=12 * 1024, check=True) as pool:
        out = cuda.to_device(numpy.zeros(64, dtype=numpy.int64))
        kernel[1, 64](pool, out)
        lane = numpy.arange(64)
        mine = lane - lane % 32 + 31 - lane % 32
        require((out.copy_to_host() == mine[::-1]).all(), out.copy_to_host())
        require(pool.report().bad_frees == 0 and pool.report().live == 0, str(pool.report()))


def check_numba_own_dynamic_memory():
    """The kernel's own bytes begin after the pool's; its fields can be read."""
    need("shpool.numba")
    import numpy
    import shpool
    import shpool.numba as pools
    from numba import cuda, int32, uint8

    @cuda.jit
    def kernel(pool, out):
        own = cuda.shared.array(0, uint8)[pool.shared_bytes:]
        heap = pools.init(pool)
        t = cuda.threadIdx.x
        own[t] = t
        row = pools.malloc(heap, 60, int32)
        for k in range(row.size):
            row[k] = -1
        cuda.syncthreads()
        out[t] = own[t]
        if t == 0:
            out[64], out[65], out[66] = own.size, pool.block_threads, pool.largest
        pools.free(heap, row)
        pools.fini(heap)

    with shpool.open("bitmap", block_threads=64, payload_bytes=64 * 1024) as pool:
        out = cuda.to_device(numpy.zeros(67, dtype=numpy.int64))
        kernel[1, 64, 0, pool.shared_bytes + 64](pool, out)
        want = [*range(64), 64, 64, pool.largest]
        require(out.copy_to_host().tolist() == want, out.copy_to_host())


def check_numba_example():
    need("shpool.numba")
    run("examples/numba_rows.py")


def check_numba_example_rbtree():
    need("shpool.numba")
    run("examples/numba_rows.py", "rbtree")


def check_cupy_example():
    run("examples/cupy_rows.py")


def check_cupy_other_allocator():
    """Kernels of another allocator, and of a pool with stats, are compiled anew."""
    need("cupy")
    import cupy
    import numpy
    import shpool.cupy

    with open(os.path.join(TOP, "examples", "rows.cuh"), encoding="utf-8") as file:
        source = file.read()
    offsets, values = cupy.arange(0, 129 * 4, 4), cupy.arange(512, dtype=cupy.float32)
    kernels = {}
    for name in ("thread_bitmap", "freelist"):
        for payload in (16 * 1024, 100 * 1024):
            with shpool.open(name, block_threads=128, payload_bytes=payload, stats=True) as pool:
                kernels[name] = cupy.RawModule(
                    code=source, options=shpool.cupy.options(pool)).get_function("row_medians")
                out = cupy.zeros(128, dtype=cupy.float32)
                shpool.cupy.launch(kernels[name], (1,), (128,), pool,
                                   (offsets, values, out, numpy.int64(128)))
                require((out.get() == numpy.arange(2, 514, 4)).all(), f"{name}: {out}")
                require(pool.report().mallocs == 128, str(pool.report()))
    with shpool.open("freelist", block_threads=128, payload_bytes=16384, stats=True) as pool:
        shpool.cupy.launch(kernels["thread_bitmap"], (1,), (128,), pool,
                           (offsets, values, out, numpy.int64(128)))
        require(numpy.isnan(out.get()).all(), "a pool of another allocator had memory")
        require(shpool._c.STATUS[pool.report().status] == "BINDING", str(pool.report()))


SLOW = """
extern "C" __global__ void slow(unsigned *out, long long words, unsigned value, long long cycles)
{
    long long begin = clock64();

    while (clock64() - begin < cycles) {
    }
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < words;
         i += (long long)gridDim.x * blockDim.x) {
        out[i] = value;
    }
}
"""


def wrong_words(cupy, slow, streams, in_thread):
    """Words of a second array that a slow kernel on the first one, which is freed, overwrote."""
    words = 5 << 20

    def fill(stream, value, cycles):
        with stream:
            array = cupy.empty(words, dtype=cupy.uint32)
            slow((32,), (256,), (array, cupy.int64(words), cupy.uint32(value),
                                 cupy.int64(cycles)))
        return array

    kept = []
    first, second = streams()
    if in_thread:  # whose own default stream the array is on, while this thread frees it
        thread = threading.Thread(target=lambda: kept.append(fill(first, 1, 50_000_000)))
        thread.start()
        thread.join()
    else:
        kept.append(fill(first, 1, 50_000_000))
    kept.clear()
    del first
    array = fill(second, 2, 0)
    cupy.cuda.runtime.deviceSynchronize()
    return int((array.get() != 2).sum())


def check_cupy_streams():
    """Two users of memory on streams that are not ordered; without the streams it goes wrong."""
    need("cupy")
    import ctypes
    import cupy
    import shpool.cupy

    library = shpool._c.lib()
    function = cupy.cuda.CFunctionAllocator(
        0, *(ctypes.cast(getattr(library, name), ctypes.c_void_p).value
             for name in ("shpool_cupy_malloc", "shpool_cupy_free")), library)
    careless = cupy.cuda.PythonFunctionAllocator(
        lambda size, device: library.shpool_torch_malloc(size, device, 1),
        lambda ptr, device: library.shpool_torch_free(ptr, 0, device, 1))
    own, null = cupy.cuda.Stream.ptds, cupy.cuda.Stream.null
    new = cupy.cuda.Stream
    cases = {"two ordinary": (lambda: (new(), new()), False),
             "two non-blocking": (lambda: (new(non_blocking=True), new(non_blocking=True)), False),
             "null, then non-blocking": (lambda: (null, new(non_blocking=True)), False),
             "non-blocking, then null": (lambda: (new(non_blocking=True), null), False),
             "per thread": (lambda: (own, own), True)}
    slow = cupy.RawKernel(SLOW, "slow")
    for name, allocate in (("shpool.cupy", shpool.cupy.allocator()), ("function", function.malloc),
                           ("all on the legacy stream", careless.malloc)):
        wrong = {}
        cupy.cuda.set_allocator(allocate)
        for case, (streams, in_thread) in cases.items():
            wrong[case] = sum(wrong_words(cupy, slow, streams, in_thread) for _ in range(4))
        print(f"{name}: wrong words: {wrong}")
        require((sum(wrong.values()) == 0) == (allocate != careless.malloc), name)


def check_torch_example():
    run("examples/torch_rows.py")


def check_errors_of_the_device():
    """More than the device has is an error that says how much there is."""
    import shpool

    try:
        shpool.open("bitmap", block_threads=32, payload_bytes=400 * 1024)
        require(False, "400 KiB were opened")
    except shpool.Error as error:
        require(error.name == "TOO_LARGE", str(error))
    pool = shpool.open("bitmap", block_threads=32, payload_bytes=4096)
    try:
        pool.report()
        require(False, "a report without stats")
    except shpool.Error as error:
        require("stats=1" in str(error), str(error))


def page_of(name):
    with open(os.path.join(TOP, "doc", name + ".md"), encoding="utf-8") as file:
        text = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL).group(1)
    return text


def pages():
    """A check for each page: the first block, as it is."""
    modules = {"NUMBA": ("shpool.numba",), "PYTHON": (), "CUPY": ("cupy",),
               "PYTORCH": ("torch",), "PYTORCH-OPERATORS": ("torch",)}
    for page in PAGES:
        def check(page=page):
            need(*modules[page])
            run("-c", page_of(page))
        yield "page_" + page.lower().replace("-", "_"), check


CHECKS = {name[len("check_"):]: function for name, function in list(globals().items())
          if name.startswith("check_")}
CHECKS.update(pages())


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--check":
        CHECKS[sys.argv[2]]()
        return
    import shpool

    try:
        shpool.open("bitmap", block_threads=32, payload_bytes=4096).close()
    except shpool.Error as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    failed = 0
    names = [name for name in CHECKS if not sys.argv[1:] or
             any(name.startswith(wanted) for wanted in sys.argv[1:])]
    for name in names:
        try:
            done = subprocess.run(
                [sys.executable, os.path.abspath(__file__), "--check", name],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
            text, code = done.stdout.decode(errors="replace").rstrip(), done.returncode
        except subprocess.TimeoutExpired:
            text, code = f"no end after {SECONDS} s", 1
        word = {0: "ok", 77: "skip"}.get(code, "FAIL")
        failed += word == "FAIL"
        print(f"{word:4} {name}", flush=True)
        if text:
            print("     " + "\n     ".join(text.splitlines()[-15:]), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
