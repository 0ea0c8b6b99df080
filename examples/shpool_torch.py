# SPDX-License-Identifier: BSD-3-Clause
"""libshpool as PyTorch's allocator.

    import shpool_torch
    shpool_torch.replace("libshpool.so")          # before CUDA is initialised; all of PyTorch
or
    pool = shpool_torch.mem_pool("libshpool.so")  # at any time; what is allocated under it
    with torch.cuda.use_mem_pool(pool):
        ...

Which allocator of libshpool serves is said by SHPOOL_DEVICE_ALLOCATOR.  doc/PYTORCH.md compares
the two ways.
"""
import ctypes

import torch

# set on PyTorch's object where it has the method: names differ between versions
HOOKS = (
    ("set_init_fn", "shpool_torch_init"),
    ("set_reset_fn", "shpool_torch_reset"),
    ("set_memory_fraction_fn", "shpool_torch_memory_fraction"),
    ("set_base_alloc_fn", "shpool_torch_base_alloc"),
    ("set_record_stream_fn", "shpool_torch_record_stream"),
    ("set_begin_allocate_to_pool", "shpool_torch_begin_pool"),
    ("set_end_allocate_to_pool_fn", "shpool_torch_end_pool"),
    ("set_release_pool", "shpool_torch_release_pool"),
)


class Stats(ctypes.Structure):
    """shpool_device_stats of shpool/device/allocator.h."""

    _fields_ = [(name, ctypes.c_uint64) for name in (
        "live_bytes", "live_bytes_peak", "live_count", "live_count_peak", "requested_bytes",
        "idle_bytes", "pending_bytes", "driver_bytes", "driver_bytes_peak", "largest_idle",
        "mallocs", "frees", "hits", "hits_done", "hits_wait", "misses", "driver_mallocs",
        "driver_frees", "events_recorded", "retries", "failures")] + [
            ("reserved", ctypes.c_uint64 * 11)]


def library(path="libshpool.so"):
    """The library with the types of the functions that are called from here."""
    lib = ctypes.CDLL(path)
    lib.shpool_last_error.restype = ctypes.c_char_p
    lib.shpool_torch_malloc.restype = ctypes.c_void_p
    lib.shpool_torch_malloc.argtypes = [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    lib.shpool_torch_free.argtypes = [
        ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    lib.shpool_torch_memory_fraction.argtypes = [ctypes.c_double, ctypes.c_int]
    lib.shpool_torch_base_alloc.restype = ctypes.c_void_p
    lib.shpool_torch_base_alloc.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t)]
    return lib


def allocator(path="libshpool.so"):
    """PyTorch's object for it, with every hook that this version of PyTorch takes."""
    lib = library(path)
    made = torch.cuda.memory.CUDAPluggableAllocator(
        path, "shpool_torch_malloc", "shpool_torch_free")
    for setter, function in HOOKS:
        if hasattr(made.allocator(), setter):
            address = ctypes.cast(getattr(lib, function), ctypes.c_void_p).value
            getattr(made.allocator(), setter)(address)
    return made


def replace(path="libshpool.so"):
    """Let all of PyTorch allocate from it; an error if CUDA was initialised already."""
    torch.cuda.memory.change_current_allocator(allocator(path))


def mem_pool(path="libshpool.so"):
    """A pool whose segments come from it; PyTorch's own allocator divides them."""
    made = allocator(path)
    try:
        pool = torch.cuda.MemPool(made.allocator())
    except (TypeError, AttributeError):  # some versions take the Python object
        pool = torch.cuda.MemPool(made)
    pool.shpool_allocator = made  # lives as long as the pool
    return pool


def stats(device=0, path="libshpool.so"):
    """Counters of the allocator that serves a device."""
    lib = library(path)
    shared = ctypes.c_void_p()
    result = Stats()
    if (lib.shpool_device_allocator_default(device, ctypes.byref(shared)) != 0 or
            lib.shpool_device_get_stats(shared, ctypes.byref(result)) != 0):
        raise RuntimeError(lib.shpool_last_error().decode())
    return result
