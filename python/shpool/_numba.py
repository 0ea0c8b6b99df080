# SPDX-License-Identifier: BSD-3-Clause
"""shpool.numba's types and functions, with which Numba calls python/src/numba.cu.

    PoolType(key)  the words of a shpool_pool that a linked kernel reads, each a kernel parameter
    HeapType(key)  nine 32-bit words: a thread's heap, by value, so that it stays in registers

The key names the allocator and states whether the pool counts and spills.  It is part of the type:
Numba then compiles a kernel for each allocator, and the first function that is called in it adds
that allocator's code to the link.
"""
import ctypes
import functools

from llvmlite import ir
from numba.cuda import cgutils, types
from numba.cuda.core import targetconfig
from numba.cuda.core.errors import TypingError
from numba.cuda.cudadecl import registry as typing_registry
from numba.cuda.cudadrv.linkable_code import LTOIR
from numba.cuda.cudaimpl import registry as lowering_registry
from numba.cuda.datamodel import models
from numba.cuda.extending import intrinsic, register_model
from numba.cuda.typing.templates import AttributeTemplate

from . import Pool, _c

HEAP_WORDS = ("base", "bytes", "rank", "flags", "word0", "word1", "area", "window", "largest")
I32, I64, PTR = ir.IntType(32), ir.IntType(64), ir.IntType(8).as_pointer()
MOST = 0x7fffffff  # SHPOOL_MAX_REQUEST
SPILLING = ("native",)  # allocators that have only global memory


# ---- types ----

class PoolType(types.UniTuple):
    """Type of a pool as a kernel's argument; key: "bitmap", "bitmap:check", "bitmap:spill"."""

    def __init__(self, key):
        super().__init__(types.CPointer(types.uint8), len(Pool.WORDS))
        self.name = f"shpool.Pool({key})"
        self.allocator = key

    @property
    def key(self):
        return self.name

    @property
    def mangling_args(self):
        return "shpool_pool_" + self.allocator.replace(":", "_"), ()

    def unify(self, typingctx, other):
        return None

    def __unliteral__(self):
        return self

    def __repr__(self):
        return self.name


class HeapType(types.Type):
    """Type of the heap that init() returns."""

    def __init__(self, key):
        super().__init__(f"shpool.Heap({key})")
        self.allocator = key


register_model(PoolType)(models.UniTupleModel)


@register_model(HeapType)
class _HeapModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [(word, types.uint32) for word in HEAP_WORDS])


def _type_of_pool(pool):
    return PoolType(pool.name + (":check" if pool.counted else "") +
                    (":spill" if pool.spills else ""))


# Numba's dispatcher looks for an attribute of this name before it asks Python; kept in the pool
Pool._numba_type_ = functools.cached_property(_type_of_pool)
Pool._numba_type_.__set_name__(Pool, "_numba_type_")


# fields of the pool that a kernel can read: pool.shared_bytes, pool.largest, ...
FIELDS = {name: getattr(_c.PoolStruct, name).offset for name, kind, *_ in _c.PoolStruct._fields_
          if kind is ctypes.c_uint32 and getattr(_c.PoolStruct, name).offset < 64}


@typing_registry.register_attr
class _PoolFields(AttributeTemplate):
    key = PoolType

    def generic_resolve(self, kind, name):
        return types.uint32 if name in FIELDS else None


@lowering_registry.lower_getattr_generic(PoolType)
def _pool_field(context, builder, kind, pool, name):
    word = builder.ptrtoint(builder.extract_value(pool, FIELDS[name] // 8), I64)
    shifted = builder.lshr(word, ir.Constant(I64, FIELDS[name] % 8 * 8))
    return builder.trunc(shifted, I32)


# ---- what is linked ----

def _allow_shared(module):
    """All shared memory of the device for the kernels of a module, as shpool_allow_shared()."""
    from cuda.bindings import driver

    def call(function, *arguments):
        error, *result = getattr(driver, function)(*arguments)
        if error != driver.CUresult.CUDA_SUCCESS:
            raise _c.Error(f"{function}: {error.name}", -12)
        return result[0] if result else None

    attribute = driver.CUfunction_attribute
    device = call("cuCtxGetDevice")
    most = call("cuDeviceGetAttribute",
                driver.CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                device)
    library = driver.CUlibrary(int(module.handle))
    for kernel in call("cuLibraryEnumerateKernels", call("cuLibraryGetKernelCount", library),
                       library):
        static = call("cuKernelGetAttribute", attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
                      kernel, device)
        call("cuKernelSetAttribute", attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
             most - static, kernel, device)


def _linker_version():
    from cuda.bindings import nvjitlink

    major, minor = nvjitlink.version()
    return major * 1000 + minor * 10


def _check_linker(made, here):
    """CUDA versions times 1,000: nvJitLink accepts its own major version, up to its own release."""
    if made and (made // 1000 != here // 1000 or made > here):
        raise _c.Error(
            f"libshpool's LTO-IR was made by CUDA {made // 1000}.{made % 1000 // 10}, Numba's "
            f"nvJitLink is of CUDA {here // 1000}.{here % 1000 // 10}: it takes what CUDA "
            f"{here // 1000} made, up to its own version; pip install "
            f"'numba-cuda[cu{made // 1000}]' and nvidia-nvjitlink of at least that version", -9)


def _bytes_of(blob):
    return ctypes.string_at(blob.contents.data, blob.contents.bytes)


@functools.lru_cache(maxsize=None)
def _linkables(key, arch):
    """The three inputs of the link besides Numba's own: always the same three objects."""
    name, *words = key.split(":")
    allocator, spill = (ctypes.POINTER(_c.Blob)() for _ in range(2))
    spec = name + (":spill=arena+native" if "spill" in words else "")
    _c.check(_c.lib().shpool_link_code(spec.encode(), arch, ctypes.byref(allocator),
                                       ctypes.byref(spill)))
    calls = _c.native("lto", "numba_check.ltoir" if "check" in words else "numba.ltoir")
    if calls is None or not spill:
        raise _c.Error("this package was built without nvcc, and has no LTO-IR for Numba to link: "
                       "install a wheel that was built where nvcc is", -9)
    _check_linker(allocator.contents.cuda, _linker_version())
    with open(calls, "rb") as file:
        code = file.read()
    return (LTOIR(code, name="shpool_numba", setup_callback=_allow_shared),
            LTOIR(_bytes_of(allocator), name="shpool_" + name),
            LTOIR(_bytes_of(spill), name="shpool_spill"))


def _link(context, key):
    flags = targetconfig.ConfigStack().top()
    library = context.active_code_library
    major, minor, *letter = flags.compute_capability  # the letter of sm_90a, in newer versions
    arch = major * 10 + minor | (ord(letter[0]) << 16 if letter and letter[0] else 0)
    other = [file for file in library._linking_files if isinstance(file, LTOIR)]
    mine = _linkables(key, arch)
    for file in other:
        if file.name.startswith("shpool_") and file not in mine:
            raise TypingError("a kernel has pools of two allocators, or with and without check or "
                              f"spill: {file.name} and {key}; it can have one of them")
    for file in mine:
        library.add_linking_file(file)


# ---- calls ----

def _integer(kind):
    return isinstance(kind, (types.Integer, types.Boolean))


def _want(condition, text):
    if not condition:
        raise TypingError(text)


def _heap(kind, name):
    _want(isinstance(kind, HeapType), f"shpool.numba.{name}: the first argument is what init() "
          f"returned, this is {kind}")


def _one_dimension(kind, name):
    _want(isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C",
          f"shpool.numba.{name}: give the 1-D array that malloc() returned, this is {kind}")


def _dtype(kind, name):
    """float32, numpy.float32, or the dtype of an array."""
    dtype = getattr(kind, "dtype", None) or getattr(kind, "instance_type", None)
    _want(isinstance(dtype, types.Type), f"shpool.numba.{name}: the element type is {kind}, give "
          "one of Numba's or NumPy's, as float32")
    return dtype


def _call(context, builder, key, name, result, arguments):
    _link(context, key)
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, [value.type for value in arguments]),
        "shpool_numba_" + name)
    function.attributes.add("convergent")  # some have barriers: no copies of a call in two branches
    return builder.call(function, arguments)


def _heap_words(builder, heap):
    return [builder.extract_value(heap, i) for i in range(len(HEAP_WORDS))]


def _to_i64(context, builder, value, kind):
    return context.cast(builder, value, kind, types.int64)


def _size(context, builder, dtype):
    return context.get_abi_sizeof(context.get_data_type(dtype))


def _bytes(builder, key, count, size):
    """count * size.  Products too large for any pool, and negative counts, stay too large.  The
    form lets the compiler deduce that the C function's own limit is kept."""
    most = ir.Constant(I64, MOST // size)
    fits = builder.icmp_unsigned("<", count, most)
    if "spill" in key or key in SPILLING:  # global memory may have room for the limit itself
        return builder.select(fits, builder.mul(count, ir.Constant(I64, size)),
                              ir.Constant(I64, -1))
    return builder.mul(builder.select(fits, count, most), ir.Constant(I64, size), flags=["nuw"])


def _make_view(context, builder, kind, pointer, count):
    """The 1-D array over an allocation; without elements if that is NULL."""
    size = _size(context, builder, kind.dtype)
    none = builder.icmp_unsigned("==", builder.ptrtoint(pointer, I64), ir.Constant(I64, 0))
    shape = builder.select(none, ir.Constant(I64, 0), count)
    array = context.make_array(kind)(context, builder)
    context.populate_array(
        array, data=builder.bitcast(pointer, array.data.type), shape=[shape],
        strides=[ir.Constant(I64, size)], itemsize=ir.Constant(I64, size), meminfo=None)
    return array._getvalue()


def _data(context, builder, kind, value):
    array = context.make_array(kind)(context, builder, value)
    return builder.bitcast(array.data, PTR)


def _begin(name, pool, at=None):
    _want(isinstance(pool, PoolType), f"shpool.numba.{name}: the first argument is a pool of "
          f"shpool.open() that was given to the kernel, this is {pool}")
    heap = HeapType(pool.allocator)

    def codegen(context, builder, signature, values):
        struct = cgutils.alloca_once(builder, ir.ArrayType(I64, ctypes.sizeof(_c.PoolStruct) // 8))
        words = cgutils.alloca_once(builder, ir.ArrayType(I32, len(HEAP_WORDS)))
        builder.store(ir.Constant(struct.type.pointee, None), struct)
        for i, offset in enumerate(Pool.WORDS):
            word = builder.ptrtoint(builder.extract_value(values[0], i), I64)
            builder.store(word, cgutils.gep_inbounds(builder, struct, 0, offset // 8))
        base = ir.Constant(PTR, None)
        if at is not None:
            base = _data(context, builder, at, values[1])
        _call(context, builder, heap.allocator, name, ir.VoidType(),
              [builder.bitcast(struct, PTR), base, builder.bitcast(words, I32.as_pointer())])
        result = cgutils.create_struct_proxy(heap)(context, builder)
        for i, word in enumerate(HEAP_WORDS):
            setattr(result, word, builder.load(cgutils.gep_inbounds(builder, words, 0, i)))
        return result._getvalue()

    return heap(pool) if at is None else heap(pool, at), codegen


def _allocating(name, more=0):
    """A function (heap, MORE INTEGERS..., count, dtype) that returns a 1-D array."""

    def define(heap, integers, count, dtype):
        _heap(heap, name)
        _want(all(map(_integer, integers + [count])),
              f"shpool.numba.{name}: counts are whole numbers, this is {integers + [count]}")
        view = types.Array(_dtype(dtype, name), 1, "C")

        def codegen(context, builder, signature, values):
            plain = [_to_i64(context, builder, value, kind)
                     for value, kind in zip(values[1:-1], signature.args[1:-1])]
            bytes_ = _bytes(builder, heap.allocator, plain[-1],
                            _size(context, builder, view.dtype))
            pointer = _call(context, builder, heap.allocator, name, PTR,
                            _heap_words(builder, values[0]) + plain[:-1] + [bytes_])
            return _make_view(context, builder, view, pointer, plain[-1])

        return view(heap, *integers, count, dtype), codegen

    if more:
        def function(typingctx, heap, option, count, dtype):
            return define(heap, [option], count, dtype)
    else:
        def function(typingctx, heap, count, dtype):
            return define(heap, [], count, dtype)
    function.__name__ = name
    return intrinsic(function)


def _asking(name, result, arrays=0, integers=0):
    """A function (heap, INTEGER, ARRAY) that returns a number."""

    def define(heap, *kinds):
        _heap(heap, name)
        for kind in kinds[:integers]:
            _want(_integer(kind), f"shpool.numba.{name}: not a whole number: {kind}")
        for kind in kinds[integers:]:
            _one_dimension(kind, name)

        def codegen(context, builder, signature, values):
            arguments = _heap_words(builder, values[0])
            for value, kind in zip(values[1:], signature.args[1:]):
                arguments.append(_to_i64(context, builder, value, kind) if _integer(kind)
                                 else _data(context, builder, kind, value))
            lower = (ir.VoidType() if result == types.void
                     else I32 if result == types.uint32 else I64)
            value = _call(context, builder, heap.allocator, name, lower, arguments)
            return context.get_dummy_value() if result == types.void else value

        return result(heap, *kinds), codegen

    if integers and arrays:
        def function(typingctx, heap, option, array):
            return define(heap, option, array)
    elif integers or arrays:
        def function(typingctx, heap, what):
            return define(heap, what)
    else:
        def function(typingctx, heap):
            return define(heap)
    function.__name__ = name
    return intrinsic(function)


@intrinsic
def init(typingctx, pool):
    """Make the block's pools at the beginning of its dynamic shared memory; this thread's heap.
    All threads of the block call it."""
    return _begin("init", pool)


@intrinsic
def init_at(typingctx, pool, at):
    """init() in a 1-D array of shared memory with pool.shared_bytes bytes, aligned to 16."""
    _want(isinstance(at, types.Array) and at.layout == "C",
          f"shpool.numba.init_at: give an array of shared memory, this is {at}")
    return _begin("init", pool, at)


@intrinsic
def realloc(typingctx, heap, array, count):
    """Move an allocation to one of `count` elements of the same type; the new array.  Without
    elements, and the old one stays, if there is no room."""
    _heap(heap, "realloc")
    _one_dimension(array, "realloc")
    _want(_integer(count), f"shpool.numba.realloc: not a whole number: {count}")

    def codegen(context, builder, signature, values):
        size = _to_i64(context, builder, values[2], count)
        pointer = _call(context, builder, heap.allocator, "realloc", PTR,
                        _heap_words(builder, values[0]) + [
                            _data(context, builder, array, values[1]),
                            _bytes(builder, heap.allocator, size,
                                   _size(context, builder, array.dtype))])
        return _make_view(context, builder, array, pointer, size)

    return array(heap, array, count), codegen


fini = _asking("fini", types.void)
malloc = _allocating("malloc")
calloc = _allocating("calloc")
aligned_malloc = _allocating("aligned_malloc", more=1)
malloc_wait = _allocating("malloc_wait", more=1)
malloc_lanes = _allocating("malloc_lanes", more=1)
malloc_warp = _allocating("malloc_warp")
malloc_block = _allocating("malloc_block")
free = _asking("free", types.uint32, arrays=1)
free_lanes = _asking("free_lanes", types.uint32, integers=1, arrays=1)
free_warp = _asking("free_warp", types.uint32, arrays=1)
free_block = _asking("free_block", types.uint32, arrays=1)
usable_size = _asking("usable_size", types.uint64, arrays=1)
largest = _asking("largest", types.uint64)
mark = _asking("mark", types.uint64)
release = _asking("release", types.uint64, integers=1)
