# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of shpool.numba become cubins, without a GPU: numba-cuda compiles and links them."""
import unittest

import shpool

try:
    import shpool.numba as pools
    from numba import cuda, float32, float64, int64, types, uint8
    from numba.cuda.compiler import compile_cuda, kernel_fixup
    from numba.cuda.core.errors import TypingError
    from shpool._numba import PoolType
except ImportError as missing:
    raise unittest.SkipTest(str(missing)) from None
try:
    shpool.link(b"", "bitmap", "sm_90")
except shpool.Error as reason:
    if "built without nvcc" in str(reason) or "made without nvcc" in str(reason):
        raise unittest.SkipTest(str(reason)) from None


def code_of(function, *arguments, lto=True):
    """Do the work of a kernel's first launch, up to loading it: the cubin for sm_90."""
    result = compile_cuda(function, types.void, arguments, cc=(9, 0), lto=lto,
                          nvvm_options={"fastmath": False, "opt": 3})
    library = result.library
    kernel = library.get_function(result.fndesc.llvm_func_name)
    library._entry_name = kernel.name
    kernel_fixup(kernel, False)
    cubin = library.get_cubin(cc=(9, 0, "a"))
    return getattr(cubin, "code", cubin), library


def vector(kind):
    return types.Array(kind, 1, "C")


def rows(pool, offsets, values, out):
    last = cuda.shared.array(64, float32)  # Numba's own, next to the pool
    heap = pools.init(pool)
    i = cuda.grid(1)
    n = offsets[i + 1] - offsets[i]
    row = pools.malloc(heap, n, float32)
    if row.size:
        for k in range(n):
            row[k] = values[offsets[i] + k]
        last[cuda.threadIdx.x] = row[n - 1]
    cuda.syncthreads()
    out[i] = last[63 - cuda.threadIdx.x]
    pools.free(heap, row)
    pools.fini(heap)


def family(pool, out):
    region = cuda.shared.array(4096, uint8)
    heap = pools.init_at(pool, region)
    i = cuda.threadIdx.x
    a = pools.calloc(heap, 3, int64)
    a = pools.realloc(heap, a, 5)
    b = pools.aligned_malloc(heap, 64, i, float64)
    c = pools.malloc_warp(heap, 32, float32)
    d = pools.malloc_block(heap, 7, float32)
    e = pools.malloc_lanes(heap, 0xffffffff, 4, float32)
    f = pools.malloc_wait(heap, 100, 4, float32)
    m = pools.mark(heap)
    out[i] = (a.size + b.size + c.size + d.size + e.size + f.size + pools.largest(heap) +
              pools.usable_size(heap, a) + pools.release(heap, m))
    out[i] += pools.free(heap, f) + pools.free_lanes(heap, 0xffffffff, e)
    pools.free_block(heap, d)
    pools.free_warp(heap, c)
    pools.free(heap, b)
    pools.free(heap, a)
    pools.fini(heap)


ROWS = (vector(types.int64), vector(types.float32), vector(types.float32))


class Kernels(unittest.TestCase):
    def test_every_allocator_is_linked(self):
        for name in shpool.allocators():
            with self.subTest(name):
                cubin, library = code_of(rows, PoolType(name), *ROWS)
                self.assertEqual(cubin[:4], b"\x7fELF")
                self.assertIn("shpool_" + name, {file.name for file in library._linking_files})

    def test_check_and_spill_are_linked_where_the_pool_has_them(self):
        sizes = {key: len(code_of(rows, PoolType(key), *ROWS)[0])
                 for key in ("bitmap", "bitmap:check", "bitmap:spill", "bitmap:check:spill")}
        more = 2000  # names differ, too
        self.assertLess(sizes["bitmap"] + more, sizes["bitmap:spill"])
        self.assertLess(sizes["bitmap"] + more, sizes["bitmap:check"])
        self.assertLess(sizes["bitmap:check"] + more, sizes["bitmap:check:spill"])

    def test_the_whole_family_is_linked(self):
        cubin, _ = code_of(family, PoolType("bitmap"), vector(types.uint64))
        self.assertEqual(cubin[:4], b"\x7fELF")

    def test_fields_of_the_pool_are_numbers(self):
        def kernel(pool, out):
            own = cuda.shared.array(0, uint8)[pool.shared_bytes:]
            own[0] = 1
            out[0] = pool.largest + pool.block_threads

        def unknown(pool, out):
            out[0] = pool.colour

        code_of(kernel, PoolType("bitmap"), vector(types.int64))
        with self.assertRaises(TypingError):
            code_of(unknown, PoolType("bitmap"), vector(types.int64))

    def test_without_lto_the_calls_are_calls(self):
        cubin, _ = code_of(rows, PoolType("bitmap"), *ROWS, lto=False)
        self.assertIn(b"shpool_numba_malloc", cubin)
        self.assertNotIn(b"shpool_numba_malloc", code_of(rows, PoolType("bitmap"), *ROWS)[0])

    def test_a_pool_has_the_type_of_its_allocator(self):
        plain = shpool.plan("rbtree", block_threads=32, payload_bytes=4096)
        counted = shpool.plan("bitmap", block_threads=32, payload_bytes=4096, stats=True)
        self.assertEqual(cuda_typeof(plain), PoolType("rbtree"))
        self.assertEqual(cuda_typeof(counted), PoolType("bitmap:check"))
        self.assertNotEqual(PoolType("rbtree"), PoolType("bitmap"))

    @unittest.skipUnless(cuda.is_available(), "Numba asks the device about device functions")
    def test_heaps_go_through_device_functions(self):
        @cuda.jit(device=True)
        def helper(heap, n):
            row = pools.malloc(heap, n, float32)
            size = row.size
            pools.free(heap, row)
            return size

        def kernel(pool, out):
            heap = pools.init(pool)
            out[0] = helper(heap, 4)
            pools.fini(heap)

        self.assertEqual(code_of(kernel, PoolType("bitmap"), vector(types.int64))[0][:4],
                         b"\x7fELF")


class Errors(unittest.TestCase):
    def fails(self, function, *arguments, text, **options):
        with self.assertRaises((TypingError, shpool.Error, Exception)) as caught:
            code_of(function, *arguments, **options)
        self.assertIn(text, str(caught.exception))

    def test_two_allocators_in_one_kernel_are_refused(self):
        def kernel(one, two):
            pools.fini(pools.init(one))
            pools.fini(pools.init(two))

        self.fails(kernel, PoolType("bitmap"), PoolType("rbtree"), text="pools of two allocators")

    def test_arguments_that_are_no_pool_or_heap(self):
        def no_pool(out):
            pools.fini(pools.init(out))

        def no_heap(pool):
            pools.malloc(pool, 4, float32)

        def no_type(pool):
            pools.malloc(pools.init(pool), 4, 8)

        self.fails(no_pool, vector(types.int64), text="is a pool of shpool.open()")
        self.fails(no_heap, PoolType("bitmap"), text="is what init() returned")
        self.fails(no_type, PoolType("bitmap"), text="the element type")

    def test_an_older_linker_is_named(self):
        from shpool import _numba

        for made, here in ((0, 12000), (13000, 13000), (13000, 13050)):
            _numba._check_linker(made, here)
        for made, here, text in ((13000, 12090, "of CUDA 12.9"), (13020, 13010, "of CUDA 13.1"),
                                 (12080, 13000, "made by CUDA 12.8")):
            with self.assertRaises(shpool.Error) as caught:
                _numba._check_linker(made, here)
            self.assertIn(text, str(caught.exception))

    def test_the_linker_is_asked(self):
        from shpool import _numba

        genuine = _numba._linker_version
        _numba._linkables.cache_clear()
        _numba._linker_version = lambda: 11000
        try:
            with self.assertRaises(shpool.Error):
                _numba._linkables("bitmap", 90)
        finally:
            _numba._linker_version = genuine


def cuda_typeof(value):
    from numba.cuda.typing.typeof import Purpose, typeof

    return typeof(value, Purpose.argument)


if __name__ == "__main__":
    unittest.main()
