# SPDX-License-Identifier: BSD-3-Clause
"""What pools cost in Python, on a GPU: python3 tests/gpu/python/times.py [OUT_FOLDER]

    numba     malloc and free in Numba's kernel and in a C kernel, both linked with their allocator
    import    from `import shpool` to an open pool, in a process of its own
    operator  a call of examples/torch_rows.cu's operator and of one that does nothing

Prints a line for each figure, with its goal; with OUT_FOLDER also writes python_times.json.  The
package shpool is on PYTHONPATH or installed.  NVCC names nvcc.  Exit: 0; 1: a goal was missed;
77: no GPU.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "examples"))
ROUNDS = 2000
os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")  # of blocks that are few
results = []


def note(name, value, unit, most=None, **more):
    missed = most is not None and value > most
    results.append({"name": name, "value": value, "unit": unit, "goal": most, "missed": missed,
                    **more})
    goal = "" if most is None else f"   (goal: {most} {unit}{', MISSED' if missed else ''})"
    print(f"{name:44} {value:9.3f} {unit}{goal}", flush=True)


BUSY = """extern "C" __global__ void busy(long long cycles)
{
    for (long long begin = clock64(); clock64() - begin < cycles;) {
    }
}"""


def median_ms(cupy, launch):
    """The device's own time of 15 launches, after three to warm up: it is busy until both events
    and the launch are in the stream."""
    busy = cupy.RawKernel(BUSY, "busy")
    times = []
    for turn in range(18):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        busy((1,), (1,), (2_000_000,))
        begin.record()
        launch()
        end.record()
        end.synchronize()
        if turn >= 3:
            times.append(cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(times)


def c_kernel(cupy, shpool, name, arch):
    with tempfile.TemporaryDirectory(prefix="shpool-times.") as folder:
        made = os.path.join(folder, "pairs.ltoir")
        subprocess.run(
            [os.environ.get("NVCC", "nvcc"), f"-arch=sm_{arch}", "-std=c++17", "-rdc=true", "-dlto",
             "-ltoir", "-I" + shpool.include(), "-o", made, os.path.join(HERE, "pairs.cu")],
            check=True)
        with open(made, "rb") as file:
            cubin = shpool.link(file.read(), name, f"sm_{arch}")
        path = os.path.join(folder, "pairs.cubin")
        with open(path, "wb") as file:
            file.write(cubin)
        return cupy.RawModule(path=path).get_function("pairs")


def numba_kernel():
    import shpool.numba as pools
    from numba import cuda, int32

    @cuda.jit
    def pairs(pool, lengths, out, rounds):
        heap = pools.init(pool)
        total = 0
        for i in range(rounds):
            row = pools.malloc(heap, lengths[(cuda.threadIdx.x + i) & 15], int32)
            if row.size:
                row[0] = i
                total += row[0]
            pools.free(heap, row)
        out[cuda.grid(1)] = total
        pools.fini(heap)

    return pairs


def numba_times():
    import cupy
    import numpy
    import shpool
    import shpool.cupy
    from numba import cuda

    device = cupy.cuda.Device()
    arch = int(device.compute_capability)
    pairs = numba_kernel()
    lengths = cupy.arange(1, 17)
    lengths_view = cuda.as_cuda_array(lengths, sync=False)  # no wait for the device at each launch
    for name in ("bitmap", "thread_bitmap", "thread_first_fit"):
        begin = time.perf_counter()
        ours = c_kernel(cupy, shpool, name, arch)
        c_seconds, first = time.perf_counter() - begin, 0.0
        for threads, blocks in ((32, 1), (256, 1), (256, 264)):
            with shpool.open(name, block_threads=threads,
                             payload_bytes=max(128 * threads, 16384)) as pool:
                out = cupy.zeros(threads * blocks, dtype=numpy.int64)
                want = ROUNDS * (ROUNDS - 1) // 2
                configured = pairs[blocks, threads, 0, pool.shared_bytes]
                begin = time.perf_counter()
                view = cuda.as_cuda_array(out, sync=False)
                configured(pool, lengths_view, view, ROUNDS)
                cupy.cuda.runtime.deviceSynchronize()
                seconds = time.perf_counter() - begin
                first = seconds if (threads, blocks) == (32, 1) else first
                assert (out == want).all(), f"{name}: Numba's kernel is wrong: {out}"
                numba_ms = median_ms(cupy, lambda: configured(pool, lengths_view, view, ROUNDS))
                out.fill(0)
                arguments = (lengths, out, numpy.int64(ROUNDS))
                shpool.cupy.launch(ours, (blocks,), (threads,), pool, arguments)
                assert (out == want).all(), f"{name}: the C kernel is wrong: {out}"
                c_ms = median_ms(cupy, lambda: shpool.cupy.launch(
                    ours, (blocks,), (threads,), pool, arguments))
            note(f"numba / C, {name}, {blocks} x {threads}", numba_ms / c_ms, "times", 1.1,
                 numba_ms=numba_ms, c_ms=c_ms)
        note(f"numba, {name}: first launch", first, "s", c_compile_s=c_seconds)
    print("registers:", pairs.get_regs_per_thread(), flush=True)

    @cuda.jit
    def empty(lengths, out, rounds):
        pass

    plain = empty[1, 32]
    with shpool.open("bitmap", block_threads=32, payload_bytes=4096) as pool:
        configured = pairs[1, 32, 0, pool.shared_bytes]
        host = per_call_us(lambda: configured(pool, lengths_view, view, 0))
        note("numba, a launch with a pool", host, "us")
        note("numba, a launch without", per_call_us(lambda: plain(lengths_view, view, 0)), "us")


def per_call_us(call, count=300):
    """The best of 20 medians: the host's own time, while the device keeps up."""
    import torch

    best = []
    for _ in range(20):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(count):
            call()
        best.append((time.perf_counter() - begin) / count * 1e6)
    torch.cuda.synchronize()
    return min(best)


def import_times():
    code = ("import time; begin = time.perf_counter()\nimport shpool\n"
            "loaded = time.perf_counter()\n"
            "shpool.open('bitmap', block_threads=256, payload_bytes=32768)\n"
            "print(loaded - begin, time.perf_counter() - begin)")
    runs = [[float(word) for word in subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout.split()]
        for _ in range(6)][1:]
    note("import shpool", statistics.median(run[0] for run in runs), "s")
    note("import to first pool", statistics.median(run[1] for run in runs), "s", 0.3)


def operator_times():
    import torch
    from torch.utils.cpp_extension import load
    import torch_rows

    begin = time.perf_counter()
    medians = torch_rows.load_operator()
    note("operator: built in", time.perf_counter() - begin, "s")
    load("shpool_empty", [os.path.join(HERE, "torch_empty.cu")], is_python_module=False)
    nothing = torch.ops.shpool_empty.nothing
    offsets = torch.arange(0, 129 * 4, 4, device="cuda")
    values = torch.rand(512, device="cuda")
    for payload in (16 * 1024, 100 * 1024):
        medians(offsets, values, payload)
        nothing(offsets, values, payload)
        # in turns, so that clocks and other programs meet both
        pairs = [(per_call_us(lambda: medians(offsets, values, payload)),
                  per_call_us(lambda: nothing(offsets, values, payload))) for _ in range(5)]
        own, empty = (min(pair[i] for pair in pairs) for i in (0, 1))
        note(f"operator over an empty one, {payload // 1024} KiB", own - empty, "us", 3.0,
             operator_us=own, empty_us=empty)


def main():
    import shpool

    try:
        shpool.open("bitmap", block_threads=32, payload_bytes=4096).close()
    except shpool.Error as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    failed = False
    for part in (import_times, numba_times, operator_times):
        try:
            part()
        except Exception as reason:  # the others still have something to say
            failed = True
            print(f"FAIL {part.__name__}: {type(reason).__name__}: {reason}", flush=True)
    if len(sys.argv) > 1:
        with open(os.path.join(sys.argv[1], "python_times.json"), "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    sys.exit(1 if failed or any(result["missed"] for result in results) else 0)


if __name__ == "__main__":
    main()
