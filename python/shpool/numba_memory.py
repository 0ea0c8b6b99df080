# SPDX-License-Identifier: BSD-3-Clause
"""Device arrays of Numba in libshpool's memory: NUMBA_CUDA_MEMORY_MANAGER=shpool.numba_memory

Numba names no stream when it allocates and frees, so that each of both waits for the device.
SHPOOL_DEVICE_ALLOCATOR selects the allocator.  doc/NUMBA.md has the limits.
"""
import ctypes

from numba import cuda
from numba.cuda.cudadrv.driver import CudaAPIError

from . import _c

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY


class Manager(cuda.HostOnlyCUDAMemoryManager):
    """A plugin of Numba's External Memory Management; its base class has pinned and managed
    memory."""

    interface_version = 1

    def initialize(self):
        _c.lib()

    def memalloc(self, size):
        library, device = _c.lib(), self.context.device.id
        pointer = library.shpool_cupy_malloc(None, size, device)
        if size > 0 and not pointer:
            raise CudaAPIError(OUT_OF_MEMORY, library.shpool_last_error().decode(errors="replace"))

        def finalize():
            library.shpool_cupy_free(None, pointer, device)

        return cuda.MemoryPointer(self.context, ctypes.c_void_p(pointer), size, finalizer=finalize)

    def get_memory_info(self):
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        _c.check(_c.lib().shpool_device_memory(self.context.device.id, ctypes.byref(free),
                                               ctypes.byref(total)))
        return cuda.MemoryInfo(free=free.value, total=total.value)

    def get_ipc_handle(self, memory):
        raise NotImplementedError("memory of libshpool has no IPC handle: copy the array to the "
                                  "host, or allocate it in a program without "
                                  "NUMBA_CUDA_MEMORY_MANAGER=shpool.numba_memory")


_numba_memory_manager = Manager
