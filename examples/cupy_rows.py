# SPDX-License-Identifier: BSD-3-Clause
"""Medians of rows of different lengths with CuPy: python3 cupy_rows.py

NVRTC compiles the kernel of rows.cuh, with the pool's allocator inside.  Exit: 0; 1: a wrong
result; 77: no CuPy or no GPU.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = 128


def main():
    try:
        import cupy
        import numpy
        cupy.cuda.runtime.getDeviceCount()
    except Exception as reason:  # CuPy's own errors differ between versions
        print(f"skipped: {reason}")
        sys.exit(77)
    import shpool.cupy

    lengths = numpy.random.default_rng(1).integers(1, 64, 10_000)
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths)])
    values = numpy.random.default_rng(2).random(offsets[-1], dtype=numpy.float32)
    medians = cupy.zeros(len(lengths), dtype=cupy.float32)
    with open(os.path.join(HERE, "rows.cuh"), encoding="utf-8") as file:
        source = file.read()

    with shpool.open(block_threads=THREADS, payload_bytes=24 * 1024) as pool:
        module = cupy.RawModule(code=source, options=shpool.cupy.options(pool))
        shpool.cupy.launch(
            module.get_function("row_medians"), (-(-len(lengths) // THREADS),), (THREADS,), pool,
            (cupy.asarray(offsets), cupy.asarray(values), medians, numpy.int64(len(lengths))))
        got = medians.get()
    want = [numpy.sort(values[a:b])[(b - a) // 2] for a, b in zip(offsets, offsets[1:])]
    wrong = int((got != numpy.array(want)).sum())
    print(f"{len(lengths)} medians, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
