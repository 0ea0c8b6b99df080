# SPDX-License-Identifier: BSD-3-Clause
"""Medians of rows of different lengths with Numba: python3 numba_rows.py [ALLOCATOR]

Each thread sorts a copy of its row in the block's pool.  The block's largest median is found in
Numba's own static shared array, beside the pool.  Exit: 0; 1: a wrong result; 77: no numba-cuda
or no GPU.
"""
import sys

THREADS = 128


def main(spec=None):
    try:
        import numpy
        from numba import cuda, float32
        import shpool.numba
        from shpool.numba import fini, free, init, malloc
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    if not cuda.is_available():
        print("skipped: no GPU")
        sys.exit(77)

    @cuda.jit
    def row_medians(pool, offsets, values, medians, largest):
        of_block = cuda.shared.array(THREADS, float32)
        heap = init(pool)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        n = 0
        if i < medians.size:
            n = offsets[i + 1] - offsets[i]
        row = malloc(heap, n, float32)
        median = float32(-1)
        if 0 < n <= row.size:  # no elements: the allocation failed
            for k in range(n):
                x = values[offsets[i] + k]
                at = k
                while at > 0 and row[at - 1] > x:
                    row[at] = row[at - 1]
                    at -= 1
                row[at] = x
            median = row[n // 2]
            medians[i] = median
        free(heap, row)

        of_block[t] = median
        cuda.syncthreads()
        step = THREADS // 2
        while step > 0:
            if t < step:
                of_block[t] = max(of_block[t], of_block[t + step])
            cuda.syncthreads()
            step //= 2
        if t == 0:
            largest[cuda.blockIdx.x] = of_block[0]
        fini(heap)

    lengths = numpy.random.default_rng(1).integers(1, 64, 10_000)
    offsets = numpy.concatenate([[0], numpy.cumsum(lengths)])
    values = numpy.random.default_rng(2).random(offsets[-1], dtype=numpy.float32)
    blocks = -(-len(lengths) // THREADS)
    medians = cuda.to_device(numpy.zeros(len(lengths), dtype=numpy.float32))
    largest = cuda.to_device(numpy.zeros(blocks, dtype=numpy.float32))
    with shpool.open(spec, block_threads=THREADS, payload_bytes=64 * 1024, stats=True) as pool:
        row_medians[blocks, THREADS, 0, pool.shared_bytes](
            pool, cuda.to_device(offsets), cuda.to_device(values), medians, largest)
        report = shpool.report(pool)
        print(f"{pool.name}: {report}")
    want = numpy.array([numpy.sort(values[a:b])[(b - a) // 2]
                        for a, b in zip(offsets, offsets[1:])])
    wrong = int((medians.copy_to_host() != want).sum())
    ends = numpy.maximum.reduceat(want, range(0, len(want), THREADS))
    wrong += int((largest.copy_to_host() != ends).sum())
    print(f"{len(lengths)} medians and {blocks} maxima, {wrong} wrong")
    sys.exit(1 if wrong or report.failures else 0)


if __name__ == "__main__":
    main(*sys.argv[1:2])
