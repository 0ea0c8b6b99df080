# SPDX-License-Identifier: BSD-3-Clause
"""libshpool as CuPy's allocator, and pools in kernels that NVRTC compiles.

    import shpool.cupy
    shpool.cupy.enable()                                # all arrays of CuPy from now on

    pool = shpool.open("bitmap", block_threads=128, payload_bytes=16 * 1024)
    module = cupy.RawModule(code=source, options=shpool.cupy.options(pool))
    shpool.cupy.launch(module.get_function("kernel"), (grid,), (128,), pool, (x, y))

doc/CUPY.md has a whole example.
"""
import ctypes

import shpool

from . import _c

try:
    import cupy
    import numpy
except ImportError:
    raise ImportError("shpool.cupy needs CuPy 12 or newer: pip install cupy-cuda12x or "
                      "cupy-cuda13x") from None

OLDEST = 12


def _check_version():
    if int(cupy.__version__.split(".", maxsplit=1)[0]) < OLDEST:
        raise _c.Error(f"shpool.cupy needs CuPy {OLDEST} or newer, this is {cupy.__version__}", -9)


def allocator():
    """CuPy's object for libshpool.  CuPy passes no stream to a function allocator: everything is
    ordered with the default stream (doc/CUPY.md)."""
    _check_version()
    library = _c.lib()
    return cupy.cuda.CFunctionAllocator(
        0, ctypes.cast(library.shpool_cupy_malloc, ctypes.c_void_p).value,
        ctypes.cast(library.shpool_cupy_free, ctypes.c_void_p).value, library)


def enable():
    """Let CuPy allocate all arrays from libshpool from now on."""
    cupy.cuda.set_allocator(allocator().malloc)


def options(pool):
    """Options for RawModule and RawKernel: the headers' folder, and defines so that the kernels
    have the pool's allocator compiled in."""
    _check_version()
    defines = ["-DSHPOOL_INLINE=" + pool.name]
    if pool.counted:
        defines.append("-DSHPOOL_CHECK")
    if pool.spills:
        defines.append("-DSHPOOL_SPILL")
    return ("-std=c++17", "-I" + shpool.include(), *defines)


def argument(pool):
    """The pool as an argument of a kernel, which takes a shpool_pool by value."""
    struct = bytes(pool.struct)
    # an array of one element: CuPy passes its bytes
    return numpy.frombuffer(struct, dtype=numpy.dtype((numpy.void, len(struct))))


def launch(kernel, grid, block, pool, arguments=(), shared_mem=0):
    """Launch a kernel whose first parameter is its pool, on CuPy's current stream.

    shared_mem  bytes of dynamic shared memory beside the pool's, which come first"""
    total = pool.shared_bytes + shared_mem
    if total + kernel.shared_size_bytes > 48 * 1024:
        limit = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        kernel.max_dynamic_shared_size_bytes = limit - kernel.shared_size_bytes
    kernel(grid, block, (argument(pool), *arguments), shared_mem=total)
