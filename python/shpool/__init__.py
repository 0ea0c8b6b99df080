# SPDX-License-Identifier: BSD-3-Clause
"""malloc and free for GPU kernels, in block shared memory, and device memory.

    import shpool
    plan = shpool.plan("bitmap", block_threads=256, payload_bytes=32 * 1024, arch="sm_90")
    print(plan.shared_bytes, plan.blocks_per_sm("sm_90"))      # no GPU needed so far
    pool = shpool.open(block_threads=256, payload_bytes=32 * 1024)  # for kernels

shpool.numba    pools in Numba's kernels             shpool.torch  PyTorch's memory, extensions
shpool.cupy     CuPy's memory, and kernels by NVRTC  shpool.executor  kernels on the CPU

libshpool.so does all the work.  doc/PYTHON.md is the manual.
"""
import ctypes
import difflib
import os
import sys
import weakref

from . import _c
from ._c import Error, PoolStruct, load

__all__ = ["Error", "Pool", "PoolStruct", "Report", "allocators", "include", "libraries", "link",
           "load", "open", "plan", "report", "version"]


def version():
    """Version of libshpool.so: "major.minor.patch"."""
    return _c.lib().shpool_version().decode()


def __getattr__(name):  # __version__ needs the library, as version()
    if name == "__version__":
        return version()
    raise AttributeError(f"module 'shpool' has no attribute {name!r}")


def allocators():
    """Names and one-line descriptions of all block allocators, plugins' included: a dict."""
    library = _c.lib()
    every = [library.shpool_allocator_get(i)[0] for i in range(library.shpool_allocator_count())]
    return {one.name.decode(): one.summary.decode() for one in every}


def include():
    """Folder of the headers, for -I: of nvcc, NVRTC, CuPy's RawModule or a C++ compiler."""
    path = _c.native("include")
    # a distribution's package lies in PREFIX/lib/python3/dist-packages/shpool
    own = os.path.normpath(os.path.join(os.path.dirname(__file__), "../../../../include"))
    for folder in (own, "/usr/local/include", "/usr/include"):
        if path is None and os.path.exists(os.path.join(folder, "shpool", "shpool.h")):
            path = folder
    if path is None:
        raise Error("the headers of libshpool are not installed (Debian: libshpool-dev)", -2)
    return path


def libraries():
    """Folder of libshpool.so.0 and, if nvcc was found, libshpool_device.a, for -L; None if the
    system's library is used."""
    return _c.native("lib")


def find_arch(name):
    """Limits of an architecture: shared_block, shared_sm, threads_sm, ...  name: "sm_90"."""
    found = _c.Arch()
    _c.check(_c.lib().shpool_arch_find(_c.text("arch", name), ctypes.byref(found)))
    return found


def _usable(pool):
    """The pool, unless it is closed: then its structure is zeroed, and its report freed."""
    if not isinstance(pool, Pool):
        raise Error(f"pool is {pool!r}, not a shpool.Pool")
    if pool._close is not None and not pool._close.alive:
        raise Error("the pool is closed: open another one")
    return pool


class Pool:
    """A planned or open pool.  Its attributes are the fields of shpool_pool: shared_bytes (of a
    launch), pools, pool_bytes, largest, block_threads, ...; name is a str.  A pool that is still
    open when Python ends is closed then."""

    # Fields that a kernel reads which is linked with its allocator: shpool_pool up to word[1],
    # report, and the words from system_bytes on.  A kernel's argument in Numba.
    WORDS = tuple(range(0, 64, 8)) + (
        _c.PoolStruct.report.offset, _c.PoolStruct.system_bytes.offset,
        _c.PoolStruct.spill_shift.offset)

    def __init__(self, struct, closer=None, reporter=None):
        self.struct = struct
        self._close = closer and weakref.finalize(self, closer, ctypes.byref(struct))
        self._reporter = reporter
        raw = bytes(struct)
        self._words = tuple(int.from_bytes(raw[at:at + 8], sys.byteorder, signed=True)
                            for at in self.WORDS)

    def __getattr__(self, name):
        if name.startswith("_") or name == "struct":
            raise AttributeError(name)
        value = getattr(_usable(self).struct, name)
        return value.decode() if name == "name" else value

    def __len__(self):
        return len(self._words)

    def __iter__(self):
        return iter(_usable(self)._words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        if self._close is not None and not self._close.alive:
            return "<shpool.Pool, closed>"
        return (f"<shpool.Pool {self.name}: {self.pools} of {self.pool_bytes} bytes, "
                f"{self.shared_bytes} in all, for {self.block_threads} threads>")

    @property
    def spills(self):
        """Whether requests that do not fit spill to global memory."""
        return self.flags & _c.FLAG_SPILL != 0

    @property
    def counted(self):
        """Whether it was opened with stats or check."""
        return self.flags & sum(_c.FLAGS.values()) != 0

    def blocks_per_sm(self, arch, other_shared=0):
        """Blocks with this pool that a multiprocessor holds at once, as far as shared memory,
        threads and block slots decide.  arch: "sm_90"; other_shared: the kernel's own bytes."""
        found = find_arch(arch)
        return _c.lib().shpool_blocks_per_sm(ctypes.byref(_usable(self).struct),
                                             ctypes.byref(found),
                                             _c.whole("other_shared", other_shared))

    def report(self):
        """shpool.report(self)"""
        return report(self)

    def close(self):
        """Free the memory of open(), and write the file of trace=FILE.  No kernel may still use
        the pool.  Closing twice has no effect."""
        detached = self._close and self._close.detach()
        if detached:
            _, closer, (struct,), _ = detached
            _c.check(closer(struct))


class Report:
    """The report of a pool's kernels.  Its attributes are the fields of shpool_report_data:
    mallocs, failures, peak_bytes, ...; bad_free and leak are lists of the recorded ones.  If status
    is not 0, why is the text of shpool_last_error(): the cause, and what would work."""

    def __init__(self, pool, data):
        self.why = _c.last_error() if data.status != 0 else ""
        self.data = data
        self._struct = _c.PoolStruct.from_buffer_copy(pool.struct)  # also after close()
        self.bad_free = list(data.bad_free[:min(data.bad_frees, len(data.bad_free))])
        self.leak = list(data.leak[:min(data.leaks, len(data.leak))])

    def __getattr__(self, name):
        if name.startswith("_") or name == "data":
            raise AttributeError(name)
        return getattr(self.data, name)

    def __str__(self):
        text = ctypes.create_string_buffer(8192)
        _c.check(_c.lib().shpool_report_text(ctypes.byref(self._struct), ctypes.byref(self.data),
                                             text, len(text)))
        return text.value.decode()

    def advise(self, arch, other_shared=0):
        """The shared memory that the run needed; fields as in shpool_advice."""
        advice = _c.Advice()
        found = find_arch(arch)
        _c.check(_c.lib().shpool_advise(
            ctypes.byref(self._struct), ctypes.byref(self.data), ctypes.byref(found),
            _c.whole("other_shared", other_shared), ctypes.byref(advice)))
        return advice


def _want(**options):
    """shpool_config: numbers by the names of its fields, flags and spill by their words."""
    want = _c.Config()
    numbers = {name for name, *_ in want._fields_} - {"flags", "spill", "binding", "reserved"}
    for name, value in options.items():
        if name in _c.FLAGS:
            want.flags |= _c.choice(name, value, {False: 0, True: _c.FLAGS[name]})
        elif name == "spill":
            want.spill = _c.choice(name, value, _c.SPILL)
        elif name in numbers:
            setattr(want, name, _c.whole(name, value, (1 << 31) - 1))
        else:
            known = sorted({*numbers, *_c.FLAGS, "spill"})
            near = difflib.get_close_matches(name, known, 1, 0.5)
            raise TypeError(f"there is no option {name}" +
                            (f", did you mean {near[0]}?" if near else "") +
                            f"  Known are {', '.join(known)}")
    return want


def _filled(function, spec, want):
    struct = _c.PoolStruct()
    _c.check(function(None if spec is None else _c.text("spec", spec), ctypes.byref(want),
                      ctypes.byref(struct)))
    return struct


def _planner(requests):
    """shpool_plan_requests() for pairs or triples of whole numbers."""
    try:
        kinds = [tuple(kind) for kind in requests]
    except TypeError:
        kinds = [()]
    if not all(len(kind) in (2, 3) for kind in kinds):
        raise Error(f"requests is {requests!r}, not a list of (count, bytes) or "
                    "(count, bytes, alignment)")
    array = (_c.Request * len(kinds))(*(
        tuple(_c.whole("a number of requests", value, (1 << 31) - 1) for value in kind)
        for kind in kinds))
    return lambda spec, want, pool: _c.lib().shpool_plan_requests(spec, want, array, len(kinds),
                                                                  pool)


def plan(spec=None, *, block_threads, arch=None, requests=None, **want):
    """Plan a pool: its allocator, and exactly what it needs.  No GPU needed.

    spec           "bitmap", "warp_best_fit:threads_per_pool=8", ...; None: $SHPOOL_ALLOCATOR, or
                   the default
    block_threads  threads of a block, 1 to 1,024
    payload_bytes  largest single malloc of a fresh pool times the number of pools; or
    total_bytes    shared memory for the pools to fill; or
    requests       [(count, bytes), (count, bytes, alignment), ...]: each pool serves all of them
                   at once, in any order; open it with payload_bytes = pool.largest * pool.pools
    arch           "sm_86": what does not fit a block there is an error; else 227 KiB
    request_bytes  largest request of the kernels: pools that cannot serve it are an error
    others         as in shpool_config (doc/PLANNING.md, doc/SPILL.md); stats, check: True or False

    Raises Error, which says what was requested, what was found, and what would work.
    """
    if arch is not None:
        want.setdefault("shared_limit", find_arch(arch).shared_block)
    planner = _c.lib().shpool_plan if requests is None else _planner(requests)
    return Pool(_filled(planner, spec, _want(block_threads=block_threads, **want)))


def open(spec=None, *, block_threads, **want):  # as the C function is called
    """Open a pool for kernels on the current device: plan(), with the device's own limits, and
    device memory for stats, check, trace and spill.  Close it, or use it in a with statement."""
    opener = _c.opener()
    struct = _filled(opener.shpool_python_open, spec, _want(block_threads=block_threads, **want))
    return Pool(struct, opener.shpool_python_close, opener.shpool_python_report)


def report(pool):
    """The Report of the kernels that ran with this pool so far.  Waits for the device.

    The pool was opened with stats=True, check=True or a spill option; Error otherwise."""
    if _usable(pool)._reporter is None:
        raise Error("the pool is planned only: open it, and run kernels with it")
    data = _c.ReportData()
    _c.check(pool._reporter(ctypes.byref(pool.struct), ctypes.byref(data)))
    return Report(pool, data)


def link(kernel, spec, arch):
    """Join a kernel's LTO-IR (compiled with -DSHPOOL_LINKED) with an allocator's: the cubin.

    kernel  bytes: LTO-IR, a fat binary or an object
    spec    the allocator; of its options only spill matters
    arch    "sm_90"

    Needs libnvJitLink, no GPU (doc/LINKING.md)."""
    if not isinstance(kernel, (bytes, bytearray, memoryview)):
        raise Error(f"kernel is of type {type(kernel).__name__}, not bytes")
    kernel, cubin, size = bytes(kernel), ctypes.c_void_p(), ctypes.c_size_t()
    _c.check(_c.lib().shpool_link(kernel, len(kernel), _c.text("spec", spec),
                                  find_arch(arch).arch, ctypes.byref(cubin), ctypes.byref(size)))
    try:
        return ctypes.string_at(cubin, size.value)
    finally:
        free = ctypes.CDLL(None).free
        free.argtypes = [ctypes.c_void_p]
        free(cubin)
