# SPDX-License-Identifier: BSD-3-Clause
"""libshpool.so by ctypes: where its files are, the C structures, and errors as exceptions.

No code of the library is duplicated here.  The structures are those of shpool/abi.h and
shpool/shpool.h; tests/python/test_layout.py compares them with a C compiler's layout of these.
"""
import ctypes
import functools
import operator
import os
from ctypes import POINTER, c_char, c_char_p, c_int32, c_size_t, c_uint32, c_uint64, c_void_p

ABI = 2

# shpool_status, without the prefix SHPOOL_ERR_
STATUS = {
    0: "OK", -1: "INVALID", -2: "NOT_FOUND", -3: "NO_MEMORY", -4: "SPEC", -5: "TOO_SMALL",
    -6: "TOO_LARGE", -7: "ALIGNMENT", -8: "LAUNCH", -9: "UNSUPPORTED", -10: "ABI", -11: "BINDING",
    -12: "CUDA", -13: "LINK", -14: "CORRUPT", -15: "DEADLOCK", -16: "DIVERGENCE", -17: "BUDGET",
    -18: "SYSTEM", -19: "LIMIT", -20: "DOUBLE_FREE", -21: "CAPTURE"}

FLAGS = {"stats": 1 << 0, "check": 1 << 1}
FLAG_SPILL = 1 << 2
SPILL = {"fail": 0, "arena": 1, "native": 2, "arena+native": 3}


class Error(RuntimeError):
    """A call of the library failed.

    status  the number, as shpool_status
    name    its name without SHPOOL_ERR_: "NOT_FOUND", "TOO_LARGE", ...
    str()   what was requested, what was found, and what would work
    """

    def __init__(self, text, status=-1):
        super().__init__(text)
        self.status = status
        self.name = STATUS.get(status, str(status))


# ---- arguments: ctypes truncates numbers, cuts strings at a NUL and believes every address ----

def whole(name, value, most=(1 << 32) - 1):
    """A whole number from 0 to most; NumPy's integers too."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not 0 <= number <= most:
        raise Error(f"{name} is {value!r}, not a whole number from 0 to {most}")
    return number


def text(name, value):
    """A str as bytes for C."""
    if not isinstance(value, str) or "\0" in value:
        raise Error(f"{name} is {value!r}, not a str without NUL characters")
    return os.fsencode(value)


def choice(name, value, known):
    """One of the keys of `known`: what it stands for."""
    if not isinstance(value, (str, bool)) or value not in known:
        raise Error(f"{name} is {value!r}, known are {', '.join(map(str, known))}")
    return known[value]


class _Plain(ctypes.Structure):
    def __repr__(self):
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name, *_ in self._fields_
                           if not name.startswith("reserved"))
        return f"{type(self).__name__}({fields})"


def _words(names):
    return [(name, c_uint32) for name in names.split()]


def _longs(names):
    return [(name, c_uint64) for name in names.split()]


class Config(_Plain):
    """shpool_config"""

    _fields_ = _words("block_threads payload_bytes threads_per_pool alignment flags total_bytes "
                      "shared_limit spill spill_bytes spill_blocks binding request_bytes") + [
                          ("reserved", c_uint32 * 4)]


class Request(_Plain):
    """shpool_request"""

    _fields_ = _words("count bytes alignment reserved")


class PoolStruct(_Plain):
    """shpool_pool"""

    _fields_ = _words("abi bytes allocator flags shared_bytes area_bytes pools pool_bytes "
                      "threads_per_pool block_threads pool_magic alignment largest scope") + [
                          ("word", c_uint32 * 2), ("allocate", c_void_p), ("release", c_void_p),
                          ("allocate_group", c_void_p), ("release_group", c_void_p),
                          ("table", c_void_p), ("report", c_void_p), ("name", c_char * 32)
                      ] + _words("system_bytes spill_bytes spill_shift spill_slots binding") + [
                          ("reserved", c_uint32 * 5), ("image", c_void_p), ("library", c_void_p),
                          ("reserved_pointer", c_void_p * 2), ("trace", c_void_p)]


class BadFree(_Plain):
    """shpool_bad_free: one refused free"""

    _fields_ = _words("block thread reason site") + _longs("address") + _words(
        "malloc_site malloc_thread")


class Leak(_Plain):
    """shpool_leak: one allocation that was never freed"""

    _fields_ = _words("block thread site usable") + _longs("address") + [
        ("reserved", c_uint32 * 2)]


class Refused(_Plain):
    """shpool_refused: a request that no free could have made succeed"""

    _fields_ = _words("reason block thread site") + _longs("bytes") + _words(
        "alignment reserved32")


class ReportData(_Plain):
    """shpool_report_data"""

    _fields_ = _words("abi bytes") + [("status", c_int32)] + _words(
        "empty blocks bad_frees") + _longs(
            "mallocs frees failures live live_bytes spills") + _words(
                "peak_bytes largest_free corrupt leaks") + [
                    ("bad_free", BadFree * 16), ("leak", Leak * 16)] + _longs(
                        "native_spills waits cycles") + _words(
                            "slowest fastest unused_bytes broken") + _longs(
                                "timed trace broken_at refusals") + [
                                    ("refused", Refused)] + _words(
                                        "empty_threads empty_base empty_bytes reserved32")


class Arch(_Plain):
    """shpool_arch: limits of an architecture for a block and a multiprocessor"""

    _fields_ = _words("arch shared_block shared_sm shared_reserved threads_sm blocks_sm")


class Advice(_Plain):
    """shpool_advice: the shared memory that a kernel needed"""

    _fields_ = _words("payload_bytes least_bytes enough_bytes blocks_now blocks_least")


class Blob(_Plain):
    """shpool_blob: LTO-IR, with the CUDA version that made it and its architecture"""


Blob._fields_ = [("data", POINTER(ctypes.c_ubyte)), ("bytes", c_size_t), ("cuda", c_uint32),
                 ("arch", c_uint32), ("newer", POINTER(Blob))]


class AllocatorStruct(_Plain):
    """shpool_allocator, up to the last field used here"""

    _fields_ = _words("abi bytes") + [("name", c_char_p), ("summary", c_char_p)] + _words(
        "scope caps")


class DeviceStats(_Plain):
    """shpool_device_stats: counters of an allocator of device memory"""

    _fields_ = _longs("live_bytes live_bytes_peak live_count live_count_peak requested_bytes "
                      "idle_bytes pending_bytes driver_bytes driver_bytes_peak largest_idle "
                      "mallocs frees hits hits_done hits_wait misses driver_mallocs driver_frees "
                      "events_recorded retries failures") + [("reserved", c_uint64 * 11)]


class Launch(_Plain):
    """simt_launch"""

    _fields_ = [("grid", c_uint32 * 3), ("block", c_uint32 * 3)] + _words(
        "dynamic_bytes static_bytes engine") + _longs("seed") + _words("switch_period") + _longs(
            "max_switches") + _words("timeout_ms fill") + [
                ("cluster", c_uint32 * 3)] + _words("from_zero") + [
                    ("arena", c_void_p)] + _words("stack_bytes leavers")


class Result(_Plain):
    """simt_result"""

    _fields_ = [("status", c_int32)] + _longs("switches schedules") + _words("complete block") + [
        ("text", c_char * 2048)]


# every function that is called from Python: its result and its parameters
_STATUS = c_int32
_FUNCTIONS = {
    "shpool_version": (c_char_p, []),
    "shpool_last_error": (c_char_p, []),
    "shpool_strerror": (c_char_p, [_STATUS]),
    "shpool_fits": (_STATUS, [c_uint32, c_uint32]),
    "shpool_allocator_count": (c_size_t, []),
    "shpool_allocator_get": (POINTER(AllocatorStruct), [c_size_t]),
    "shpool_plan": (_STATUS, [c_char_p, POINTER(Config), POINTER(PoolStruct)]),
    "shpool_plan_requests": (_STATUS, [c_char_p, POINTER(Config), POINTER(Request), c_uint32,
                                       POINTER(PoolStruct)]),
    "shpool_arch_find": (_STATUS, [c_char_p, POINTER(Arch)]),
    "shpool_blocks_per_sm": (c_uint32, [POINTER(PoolStruct), POINTER(Arch), c_uint32]),
    "shpool_advise": (_STATUS, [POINTER(PoolStruct), POINTER(ReportData), POINTER(Arch), c_uint32,
                                POINTER(Advice)]),
    "shpool_link": (_STATUS, [c_char_p, c_size_t, c_char_p, c_uint32, POINTER(c_void_p),
                              POINTER(c_size_t)]),
    "shpool_link_code": (_STATUS, [c_char_p, c_uint32, POINTER(POINTER(Blob)),
                                   POINTER(POINTER(Blob))]),
    "shpool_simt_open": (_STATUS, [c_char_p, POINTER(Config), POINTER(PoolStruct)]),
    "shpool_simt_report": (_STATUS, [POINTER(PoolStruct), POINTER(ReportData)]),
    "shpool_report_text": (_STATUS, [POINTER(PoolStruct), POINTER(ReportData), c_char_p,
                                     c_size_t]),
    "shpool_simt_close": (_STATUS, [POINTER(PoolStruct)]),
    "simt_run": (_STATUS, [POINTER(Launch), c_void_p, c_void_p, POINTER(Result)]),
    "shpool_device_allocator_default": (_STATUS, [c_int32, POINTER(c_void_p)]),
    "shpool_device_malloc": (_STATUS, [c_void_p, c_size_t, c_void_p, POINTER(c_void_p)]),
    "shpool_device_free": (_STATUS, [c_void_p, c_void_p, c_void_p]),
    "shpool_device_get_stats": (_STATUS, [c_void_p, POINTER(DeviceStats)]),
    "shpool_device_reset_peak": (_STATUS, [c_void_p]),
    "shpool_device_memory": (_STATUS, [c_int32, POINTER(c_uint64), POINTER(c_uint64)]),
    "shpool_torch_malloc": (c_void_p, [ctypes.c_ssize_t, c_int32, c_void_p]),
    "shpool_torch_free": (None, [c_void_p, ctypes.c_ssize_t, c_int32, c_void_p]),
    "shpool_torch_memory_fraction": (None, [ctypes.c_double, c_int32]),
    "shpool_torch_base_alloc": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "shpool_cupy_malloc": (c_void_p, [c_void_p, c_size_t, c_int32]),
    "shpool_cupy_free": (None, [c_void_p, c_void_p, c_int32]),
}

# python/src/open.cu
_OPEN_FUNCTIONS = {
    "shpool_python_open": (_STATUS, [c_char_p, POINTER(Config), POINTER(PoolStruct)]),
    "shpool_python_report": (_STATUS, [POINTER(PoolStruct), POINTER(ReportData)]),
    "shpool_python_close": (_STATUS, [POINTER(PoolStruct)]),
}

NATIVE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")


class _Loaded:
    """The libraries loaded so far."""

    path = None
    library = None
    opener = None
    refused = None  # the Error of load(), until another load() succeeds


def native(*parts):
    """A file of the wheel, or None."""
    path = os.path.join(NATIVE, *parts)
    return path if os.path.exists(path) else None


def _declare(library, functions):
    for name, (result, parameters) in functions.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise Error(f"{library._name} has no {name}(): it is another version of libshpool than "
                        "this package; install both of one version", -10) from None
        function.restype = result
        function.argtypes = parameters
    return library


def load(path=None):
    """Use this libshpool.so.  Call it before anything else, or not at all: the wheel's is used, or
    the system's.  After a library was refused, every other call raises the same Error until a
    load() succeeds."""
    if path is None:
        path = native("lib", "libshpool.so.0") or "libshpool.so.0"
    elif isinstance(path, os.PathLike):
        path = os.fspath(path)
    text("path", path)
    if _Loaded.library is not None:
        if path != _Loaded.path:
            raise Error(f"{_Loaded.path} is loaded already: shpool.load() comes before all else")
        return _Loaded.library
    try:
        library = _opened(path)
    except Error as error:
        _Loaded.refused = error
        raise
    _Loaded.path, _Loaded.library, _Loaded.refused = path, library, None
    return library


def _opened(path):
    try:
        library = ctypes.CDLL(path)
    except OSError as reason:
        raise Error(f"libshpool.so cannot be loaded: {reason}; pip install a wheel that has it, "
                    "or install the library (Debian: libshpool0) and run ldconfig", -9) from None
    _declare(library, _FUNCTIONS)
    status = library.shpool_fits(ABI, ABI)
    if status != 0:
        raise Error(library.shpool_last_error().decode(errors="replace"), status)
    return library


def lib():
    """The library."""
    if _Loaded.refused is not None:
        raise Error(str(_Loaded.refused), _Loaded.refused.status)
    return _Loaded.library or load()


def path_of_library():
    """Where the library is, for those that load it themselves (PyTorch)."""
    lib()
    return _Loaded.path


def opener():
    """The functions that need CUDA's runtime, which only builds with nvcc have."""
    if _Loaded.opener is None:
        lib()
        path = native("lib", "libshpool_open.so")
        if path is None:
            raise Error("this package was built without nvcc: it plans pools, runs them on the "
                        "executor and has device memory, but cannot open pools for kernels; "
                        "install a wheel that was built where nvcc is", -9)
        try:
            _Loaded.opener = _declare(ctypes.CDLL(path), _OPEN_FUNCTIONS)
        except OSError as reason:
            raise Error(f"{path} cannot be loaded: {reason}", -9) from None
    return _Loaded.opener


def last_error():
    """The library's own message for the latest failure of this thread"""
    return lib().shpool_last_error().decode(errors="replace")


def check(status):
    """Raise an Error with that message for a failure."""
    if status != 0:
        text = last_error()
        raise Error(text or lib().shpool_strerror(status).decode(), status)


def check_variable():
    """Raise an Error if SHPOOL_DEVICE_ALLOCATOR is misspelt.  No GPU needed."""
    check(lib().shpool_device_allocator_default(0, None))


@functools.lru_cache(maxsize=None)
def shared(device):
    """The allocator that a device's users share; it stays until the process ends."""
    found = c_void_p()
    check(lib().shpool_device_allocator_default(device, ctypes.byref(found)))
    return found
