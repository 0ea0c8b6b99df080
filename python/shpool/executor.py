# SPDX-License-Identifier: BSD-3-Clause
"""Kernels on the CPU block executor: no GPU needed.

    kernel = ctypes.CDLL("./rows.so").rows        # void rows(void *arg), compiled by cc
    pool = shpool.executor.open("bitmap", block_threads=32, payload_bytes=4096, stats=True)
    shpool.executor.run(kernel, argument, block=32, dynamic_bytes=pool.shared_bytes)
    print(pool.report())

Kernels are C functions over shpool/simt.h, as for C programs (doc/INTERNALS.md); argument is a
ctypes.Structure, of which a pool is the field `pool.struct`.
"""
import ctypes

from . import Pool, _filled, _want, _c

ENGINES = {"fibers": 0, "threads": 1}


def open(spec=None, *, block_threads, **want):
    """As shpool.open(), for kernels on the executor."""
    library = _c.lib()
    struct = _filled(library.shpool_simt_open, spec, _want(block_threads=block_threads, **want))
    return Pool(struct, library.shpool_simt_close, library.shpool_simt_report)


def _three(name, shape):
    """A shape of one to three numbers as three."""
    numbers = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not 1 <= len(numbers) <= 3:
        raise _c.Error(f"{name} is {shape!r}, not one to three whole numbers")
    return (ctypes.c_uint32 * 3)(*[_c.whole(name, number) for number in (*numbers, 1, 1)[:3]])


# the numbers of a simt_launch, and the largest value of each
NUMBERS = {name: (1 << 8 * ctypes.sizeof(kind)) - 1 for name, kind in _c.Launch._fields_
           if issubclass(kind, ctypes._SimpleCData)}


def run(kernel, argument=None, *, grid=1, block=1, dynamic_bytes=0, engine="fibers", **options):
    """Run a kernel to its end; the simt_result, with the number of switches between threads.

    kernel    a function of a shared library: void kernel(void *argument)
    argument  a ctypes object, or None
    engine    "fibers": the seed decides about switches, a run repeats exactly; "threads"
    options   seed, switch_period, max_switches, timeout_ms, static_bytes, fill, cluster

    Raises Error with what stopped it: a deadlock, divergence, a fault."""
    if not isinstance(kernel, ctypes._CFuncPtr) or not kernel:
        raise _c.Error(f"kernel is {kernel!r}, not a function of a ctypes.CDLL, as "
                       "ctypes.CDLL('./rows.so').rows")
    if argument is not None and not isinstance(argument, ctypes.Structure.__base__):
        raise _c.Error(f"argument is {argument!r}, neither a ctypes object nor None")
    shapes = {"grid": grid, "block": block, "cluster": options.pop("cluster", 0)}
    numbers = {"dynamic_bytes": dynamic_bytes, "engine": _c.choice("engine", engine, ENGINES),
               **options}
    launch = _c.Launch(
        **{name: _three(name, shape) for name, shape in shapes.items()},
        **{name: _c.whole(name, value, _c.choice("an option", name, NUMBERS))
           for name, value in numbers.items()})
    result = _c.Result()
    address = ctypes.cast(kernel, ctypes.c_void_p)
    where = None if argument is None else ctypes.cast(ctypes.pointer(argument), ctypes.c_void_p)
    status = _c.lib().simt_run(ctypes.byref(launch), address, where, ctypes.byref(result))
    if status != 0:
        raise _c.Error(result.text.decode(errors="replace") or
                       _c.lib().shpool_last_error().decode(), status)
    return result
