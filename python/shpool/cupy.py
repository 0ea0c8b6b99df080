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
import sys
import threading

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


_PER_THREAD = 2  # this handle means another stream in each thread
_here = threading.local()


def _thread():
    """An object of the calling thread that no other thread has, not even after its end."""
    if not hasattr(_here, "mark"):
        _here.mark = object()
    return _here.mark


class _Block:
    """Memory of an array.  As in CuPy's own pool, it is allocated on the current stream, and freed
    in the order of that stream, which it keeps from being destroyed until then."""

    __slots__ = ("ptr", "device", "stream", "thread")

    def __init__(self, size):
        self.ptr = ctypes.c_void_p()
        self.device = cupy.cuda.runtime.getDevice()
        self.stream = cupy.cuda.get_current_stream()
        self.thread = _thread() if self.stream.ptr == _PER_THREAD else None
        try:
            _c.check(_c.lib().shpool_device_malloc(_c.shared(self.device), size, self.stream.ptr,
                                                   ctypes.byref(self.ptr)))
        except _c.Error as error:
            if error.name not in ("NO_MEMORY", "LIMIT", "TOO_LARGE"):
                raise
            raise cupy.cuda.memory.OutOfMemoryError(size, -1) from error

    def __del__(self, is_at_exit=sys.is_finalizing):
        if not self.ptr or is_at_exit():
            return
        if self.thread is None or self.thread is _thread():
            _c.check(_c.lib().shpool_device_free(_c.shared(self.device), self.ptr,
                                                 self.stream.ptr))
        else:  # this thread cannot name that stream: this waits for all
            _c.lib().shpool_cupy_free(None, self.ptr, self.device)


def _malloc(size):
    block = _Block(size)
    memory = cupy.cuda.UnownedMemory(block.ptr.value or 0, size, block, block.device)
    return cupy.cuda.MemoryPointer(memory, 0)


def allocator():
    """The function for cupy.cuda.set_allocator() and cupy.cuda.using_allocator()."""
    _check_version()
    return _malloc


def enable():
    """Let CuPy allocate all arrays from libshpool from now on."""
    cupy.cuda.set_allocator(allocator())


def options(pool):
    """Options for RawModule and RawKernel: the headers' folder, and defines so that the kernels
    have the pool's allocator compiled in."""
    _check_version()
    defines = ["-DSHPOOL_INLINE=" + shpool._usable(pool).name]
    if pool.counted:
        defines.append("-DSHPOOL_CHECK")
    if pool.spills:
        defines.append("-DSHPOOL_SPILL")
    return ("-std=c++17", "-I" + shpool.include(), *defines)


def argument(pool):
    """The pool as an argument of a kernel, which takes a shpool_pool by value."""
    struct = bytes(shpool._usable(pool).struct)
    # an array of one element: CuPy passes its bytes
    return numpy.frombuffer(struct, dtype=numpy.dtype((numpy.void, len(struct))))


def launch(kernel, grid, block, pool, arguments=(), shared_mem=0):
    """Launch a kernel whose first parameter is its pool, on CuPy's current stream.

    shared_mem  bytes of dynamic shared memory beside the pool's, which come first"""
    total = shpool._usable(pool).shared_bytes + _c.whole("shared_mem", shared_mem)
    if total + kernel.shared_size_bytes > 48 * 1024:
        limit = cupy.cuda.Device().attributes["MaxSharedMemoryPerBlockOptin"]
        kernel.max_dynamic_shared_size_bytes = limit - kernel.shared_size_bytes
    kernel(grid, block, (argument(pool), *arguments), shared_mem=total)
