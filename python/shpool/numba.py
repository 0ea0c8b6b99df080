# SPDX-License-Identifier: BSD-3-Clause
"""Pools in Numba's kernels.

    from numba import cuda, float32
    import shpool
    from shpool.numba import init, fini, malloc, free

    @cuda.jit
    def kernel(pool, lengths, out):
        heap = init(pool)                              # all threads of the block
        row = malloc(heap, lengths[cuda.grid(1)], float32)  # 1-D array in shared memory
        if row.size:                                   # 0 elements: no room
            row[0] = 1.0
        free(heap, row)
        fini(heap)                                     # all threads of the block

    pool = shpool.open(block_threads=128, payload_bytes=32 * 1024)
    kernel[grid, 128, 0, pool.shared_bytes](pool, lengths, out)

The pool's allocator is chosen by name when it is opened.  Numba compiles a kernel for each
allocator that it meets, and links it with that one's LTO-IR.  doc/NUMBA.md is the manual.
"""
import os

from . import _c

OLDEST = (0, 30)

try:
    import numba_cuda
except ImportError:
    raise ImportError("shpool.numba needs numba-cuda 0.30 or newer: "
                      "pip install 'numba-cuda[cu13]'") from None
if tuple(int(part) for part in numba_cuda.__version__.split(".")[:2]) < OLDEST:
    raise ImportError(f"shpool.numba needs numba-cuda {OLDEST[0]}.{OLDEST[1]} or newer, this is "
                      f"{numba_cuda.__version__}: pip install --upgrade numba-cuda")
if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
    raise ImportError("shpool.numba needs numba-cuda's compiler, not NUMBA_ENABLE_CUDASIM's "
                      "simulator: unset that; shpool.executor runs C kernels without a GPU")

try:
    from ._numba import (HeapType, PoolType, aligned_malloc, calloc, fini, free, free_block,  # noqa
                         free_lanes, free_warp, init, init_at, largest, malloc, malloc_block,
                         malloc_lanes, malloc_wait, malloc_warp, mark, realloc, release,
                         usable_size)
except (AttributeError, ImportError) as reason:  # Numba's own, with a NumPy that is too new
    import numpy
    raise ImportError(f"numba-cuda {numba_cuda.__version__} cannot be imported, with NumPy "
                      f"{numpy.__version__}: {reason}") from reason

__all__ = ["HeapType", "PoolType", "aligned_malloc", "calloc", "fini", "free", "free_block",
           "free_lanes", "free_warp", "init", "init_at", "largest", "malloc", "malloc_block",
           "malloc_lanes", "malloc_wait", "malloc_warp", "mark", "realloc", "release",
           "usable_size"]
