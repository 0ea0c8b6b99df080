# SPDX-License-Identifier: BSD-3-Clause
"""libshpool as PyTorch's allocator, and flags for extensions whose kernels use pools.

    import shpool.torch
    shpool.torch.enable()               # all of PyTorch, from now on
or
    pool = shpool.torch.mem_pool()      # at any time; what is allocated under it
    with torch.cuda.use_mem_pool(pool):
        ...

SHPOOL_DEVICE_ALLOCATOR selects the allocator of device memory.  doc/PYTORCH.md compares the two
ways; doc/PYTORCH-OPERATORS.md has operators whose kernels have pools.
"""
import ctypes
import os
import sys
import warnings

import shpool

from . import _c

try:
    import torch
except ImportError:
    raise ImportError("shpool.torch needs PyTorch 2.1 or newer: pip install torch") from None

from . import _torch  # noqa: E402

OLDEST = (2, 1)
BACKEND = "shpool"  # torch.cuda.get_allocator_backend() with the C++ part
_functions = []  # the allocator of C functions that enable() has installed

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


def _check_version():
    if _torch.version() < OLDEST:
        raise _c.Error(f"shpool.torch needs PyTorch {OLDEST[0]}.{OLDEST[1]} or newer, this is "
                       f"{torch.__version__}: pip install --upgrade torch", -9)
    if torch.version.cuda is None:
        raise _c.Error(f"PyTorch {torch.__version__} was built without CUDA: install one that has "
                       "it", -9)


def _refuse_to_share():
    """Make torch.multiprocessing fail with a reason for a tensor in libshpool's memory.

    PyTorch shares by cudaIpcGetMemHandle.  Mapped memory has no such handle, and the handle of a
    part of a slab opens the slab: the other process would read at its beginning."""
    storage = torch.UntypedStorage
    share = getattr(storage, "_share_cuda_", None)
    if share is None or hasattr(share, "shpool"):
        return

    def _share_cuda_(self, *args, **kwargs):
        size = ctypes.c_size_t()
        if _c.lib().shpool_torch_base_alloc(self.data_ptr(), ctypes.byref(size)):
            raise _c.Error("torch.multiprocessing cannot share a tensor in libshpool's memory: "
                           "send tensor.cpu(), or allocate it outside of shpool.torch.mem_pool()",
                           -9)
        return share(self, *args, **kwargs)

    _share_cuda_.shpool = True
    storage._share_cuda_ = _share_cuda_


def allocator():
    """PyTorch's object for libshpool, with every hook that this version of PyTorch supports."""
    _check_version()
    _refuse_to_share()
    library = _c.lib()
    made = torch.cuda.memory.CUDAPluggableAllocator(
        _c.path_of_library(), "shpool_torch_malloc", "shpool_torch_free")
    for setter, function in HOOKS:
        if hasattr(made.allocator(), setter):
            address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
            getattr(made.allocator(), setter)(address)
    return made


SETTINGS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF")
REGISTRATION = ("TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK",
                "NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK")


def _parts(name):
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()]


def _refuse_backend():
    """PyTorch fails with an internal error if the allocator is another one than that setting's."""
    for name in SETTINGS:
        given = [part for part in _parts(name) if part.split(":")[0].strip() == "backend"]
        if given:
            raise _c.Error(f"{name} has {given[0]}, and PyTorch then accepts no other allocator: "
                           "remove that from it", -9)


def _forget_registration():
    """PyTorch would register all of a snapshot's memory with NCCL, which goes on with an address
    when other memory is mapped there.  PyTorch ignores it with expandable segments, too."""
    for name in REGISTRATION:
        value = os.environ.get(name, "")
        if value.lower() in ("", "0", "n", "no", "f", "false"):
            continue
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            raise _c.Error(f"{name}={value} and init_process_group() came before "
                           "shpool.torch.enable(): call it first", -9)
        del os.environ[name]
        warnings.warn(f"{name}={value} has no effect: libshpool's memory moves between addresses; "
                      "register_mem_pool() registers that of a torch.cuda.MemPool with NCCL",
                      RuntimeWarning, stacklevel=3)


def _name_settings(those, heeded=()):
    """Settings of PyTorch's own allocator that the user gave, and `those` that they are for."""
    if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"):
        warnings.warn("PYTORCH_NO_CUDA_MEMORY_CACHING has no effect on libshpool, which caches",
                      RuntimeWarning, stacklevel=3)
    for name in SETTINGS:
        given = [part for part in _parts(name) if not part.startswith(("pinned_", *heeded))]
        if given:
            warnings.warn(f"{name}={','.join(given)} has {those}: libshpool divides PyTorch's "
                          "memory; SHPOOL_DEVICE_ALLOCATOR has its options", RuntimeWarning,
                          stacklevel=3)


def _enable_functions():
    made = allocator()
    try:
        torch.cuda.memory.change_current_allocator(made)
    except RuntimeError as reason:
        raise _c.Error(f"{reason}: with C functions, call shpool.torch.enable() before the program "
                       "uses the GPU", -9) from None
    _functions.append(made)


def enable():
    """Let all of PyTorch allocate from libshpool from now on.

    Scope: one thread, while no other one allocates, and outside of graphs' captures and pools.
    Tensors that exist stay where they are.  A second call has no effect.

    Compiles the C++ part once for each PyTorch (about 10 s).  Without a compiler, CUDA's headers or
    PyTorch 2.6, C functions are used, and a warning says what is missing: running out of memory
    then gives tensors without memory, statistics are in shpool.torch only, and it is an error if
    the program has used the GPU."""
    _check_version()
    if _functions or torch.cuda.memory.get_allocator_backend() == BACKEND:
        return
    _refuse_backend()
    _c.check_variable()
    _forget_registration()
    try:
        part = _torch.library()
    except _c.Error as missing:
        _enable_functions()
        warnings.warn(f"shpool.torch uses C functions, so that running out of memory is not an "
                      f"exception: {missing}", RuntimeWarning, stacklevel=2)
        _name_settings("no effect")
        return
    reason = part.shpool_torch_install()
    if reason is not None:
        raise _c.Error(reason.decode(), -9)
    _name_settings("an effect on CUDA graphs and torch.cuda.MemPool only",
                   ("per_process_memory_fraction",))


def mem_pool():
    """A pool whose segments come from libshpool; PyTorch's own allocator divides them."""
    made = allocator()
    if torch.cuda.memory.get_allocator_backend() in ("pluggable", BACKEND):
        raise _c.Error("shpool.torch.enable() has replaced PyTorch's allocator, which divides the "
                       "memory of such pools: use one of the two", -9)
    if not hasattr(torch.cuda, "MemPool"):
        raise _c.Error(f"PyTorch {torch.__version__} has no torch.cuda.MemPool: 2.5 and newer "
                       "have; shpool.torch.enable() works with this one", -9)
    pool = torch.cuda.MemPool(made.allocator())
    pool.shpool_allocator = made  # lives as long as the pool
    return pool


def _shared(device):
    """Of a number, "cuda:1", torch.device("cuda"), or None for the current device."""
    if not hasattr(device, "__index__"):
        try:
            given = torch.device("cuda" if device is None else device)
        except (RuntimeError, TypeError):
            given = None
        if given is None or given.type != "cuda":
            raise _c.Error(f"device is {device!r}, not a number or name of a CUDA device")
        device = torch.cuda.current_device() if given.index is None else given.index
    return _c.shared(_c.whole("device", device, (1 << 31) - 1))


def stats(device=0):
    """Counters of the allocator that serves a device; fields as in shpool_device_stats."""
    result = _c.DeviceStats()
    _c.check(_c.lib().shpool_device_get_stats(_shared(device), ctypes.byref(result)))
    return result


def memory_stats(device=0):
    """The same under the names of torch.cuda.memory_stats(), those of them that we count.

    The peaks of allocated bytes and of allocations, and requested_bytes, need the layer `stats`
    (SHPOOL_DEVICE_ALLOCATOR='stats|bins') and are 0 without it."""
    found = stats(device)
    return {
        "allocated_bytes.all.current": found.live_bytes,
        "allocated_bytes.all.peak": found.live_bytes_peak,
        "requested_bytes.all.current": found.requested_bytes,
        "active_bytes.all.current": found.live_bytes + found.pending_bytes,
        "reserved_bytes.all.current": found.driver_bytes,
        "reserved_bytes.all.peak": found.driver_bytes_peak,
        "allocation.all.current": found.live_count,
        "allocation.all.peak": found.live_count_peak,
        "allocation.all.allocated": found.mallocs,
        "allocation.all.freed": found.frees,
        "num_device_alloc": found.driver_mallocs,
        "num_device_free": found.driver_frees,
        "num_alloc_retries": found.retries,
        "num_ooms": found.failures,
    }


def reset_peak_memory_stats(device=0):
    """Set the peaks to the current values, as torch.cuda.reset_peak_memory_stats() does."""
    _c.check(_c.lib().shpool_device_reset_peak(_shared(device)))


def extension(allocator_name="bitmap", *, check=False, spill=False):
    """Arguments for torch.utils.cpp_extension.load() of an extension with pools in its kernels.

        module = torch.utils.cpp_extension.load("rows", ["rows.cu"], **shpool.torch.extension())

    allocator_name  is compiled into the kernels (SHPOOL_INLINE): the fastest binding
    check           compile in the code for stats=1, check=1 and trace (SHPOOL_CHECK)
    spill           likewise for spill options (SHPOOL_SPILL)

    For CUDAExtension() in a setup.py see doc/PYTORCH-OPERATORS.md."""
    _check_version()
    _c.choice("the allocator", allocator_name, shpool.allocators())
    defines = [f"-DSHPOOL_INLINE={allocator_name}"]
    defines += _c.choice("check", check, {False: [], True: ["-DSHPOOL_CHECK"]})
    defines += _c.choice("spill", spill, {False: [], True: ["-DSHPOOL_SPILL"]})
    # by its path, because -l does not find the wheel's file name
    path = _c.path_of_library()
    rpath = ["-Wl,-rpath," + path.rsplit("/", maxsplit=1)[0]] if "/" in path else []
    return {"extra_include_paths": [shpool.include()],
            "extra_cflags": defines,
            "extra_cuda_cflags": defines,
            "extra_ldflags": [path if "/" in path else "-l:" + path] + rpath}


if "shpool.auto" in sys.modules:
    sys.modules["shpool.auto"].ready()
