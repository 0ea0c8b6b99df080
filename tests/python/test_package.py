# SPDX-License-Identifier: BSD-3-Clause
"""Plans, errors, the executor and linking, from Python; no GPU needed."""
import ctypes
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

import shpool
import shpool.executor
from shpool import _c
from trial import compiled, library_path

# each thread keeps a row of its own length in the pool, and adds it up
KERNEL = """
#include <shpool/heap.h>
typedef struct argument { shpool_pool pool; unsigned *out; unsigned leak; } argument;
extern void rows(void *arg);
void rows(void *arg)
{
    argument *a = (argument *)arg;
    shpool_heap heap = shpool_init(&a->pool, simt_from_shared(simt_dynamic_base()));
    unsigned rank = simt_thread_rank();
    unsigned n = 1 + rank % 7;
    unsigned *row = (unsigned *)shpool_malloc(heap, n * sizeof *row);
    unsigned sum = 0;
    for (unsigned i = 0; row != 0 && i < n; i++) {
        simt_store32(simt_to_shared(&row[i]), i + rank);
    }
    for (unsigned i = 0; row != 0 && i < n; i++) {
        sum += simt_load32(simt_to_shared(&row[i]));
    }
    a->out[simt_block_rank() * simt_block_threads() + rank] = row != 0 ? sum : ~0u;
    if (rank >= a->leak) {
        shpool_free(heap, row);
    }
    shpool_fini(heap);
}
extern void stuck(void *arg);
void stuck(void *arg)
{
    (void)arg;
    if (simt_thread_rank() != 0) {
        simt_barrier();
    }
}
"""


class Argument(ctypes.Structure):
    _fields_ = [("pool", _c.PoolStruct), ("out", ctypes.POINTER(ctypes.c_uint32)),
                ("leak", ctypes.c_uint32)]


class Package(unittest.TestCase):
    def test_version_and_types(self):
        self.assertEqual(shpool.__version__, shpool.version())
        self.assertTrue(os.path.exists(os.path.join(shpool.__path__[0], "py.typed")))
        with self.assertRaisesRegex(AttributeError, "no attribute 'plans'"):
            shpool.plans  # pylint: disable=pointless-statement

    def test_stubs_name_what_is_there(self):
        with open(os.path.join(shpool.__path__[0], "__init__.pyi"), encoding="utf-8") as file:
            names = re.findall(r"^(?:def|class) (\w+)", file.read(), re.M)
        self.assertEqual(sorted(names), sorted({*shpool.__all__, "find_arch"}))

    def test_flags_for_compilers(self):
        def said(*words):
            return subprocess.run([sys.executable, "-m", "shpool", *words], check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(said("--cflags").stdout.decode(), f"-I{shpool.include()}\n")
        self.assertEqual(said("--version").stdout.decode(), f"{shpool.version()}\n")
        self.assertEqual(said("--clfags").returncode, 2)
        libs = said("--libs").stdout.decode().split()
        if shpool.libraries() is None:
            self.skipTest("the system's library")
        with compiled("int shpool_selected(void);\nint main(void) { return shpool_selected(); }",
                      *[one for one in libs if one != "-lshpool_device"]) as program:
            self.assertEqual(subprocess.run([program], check=False).returncode, 0)

    def test_a_slip_is_named(self):
        with self.assertRaisesRegex(TypeError, "no option payload, did you mean payload_bytes"):
            shpool.plan(block_threads=32, payload=1)


class Plans(unittest.TestCase):
    def test_a_plan_is_that_of_shpool_info(self):
        pool = shpool.plan("bitmap", block_threads=256, payload_bytes=32 * 1024, arch="sm_86")
        self.assertEqual((pool.name, pool.pools, pool.shared_bytes, pool.largest),
                         ("bitmap", 1, 33584, 32768))
        self.assertEqual(pool.blocks_per_sm("sm_86"), 2)
        self.assertIn("33584", repr(pool))

    def test_an_unknown_allocator_lists_the_known(self):
        with self.assertRaises(shpool.Error) as caught:
            shpool.plan("bitmp", block_threads=1, payload_bytes=16)
        self.assertEqual(caught.exception.name, "NOT_FOUND")
        self.assertIn('did you mean "bitmap"', str(caught.exception))

    def test_what_an_architecture_has_not_is_an_error(self):
        with self.assertRaises(shpool.Error) as caught:
            shpool.plan("bitmap", block_threads=64, payload_bytes=200 * 1024, arch="sm_86")
        self.assertEqual(caught.exception.name, "TOO_LARGE")
        shpool.plan("bitmap", block_threads=64, payload_bytes=200 * 1024, arch="sm_90")
        with self.assertRaisesRegex(shpool.Error, "threads_per_pool=64"):
            shpool.plan("freelist", block_threads=64, payload_bytes=4096, request_bytes=4096)

    def test_numbers_that_c_would_cut_are_errors(self):
        for wrong in (-1, 1 << 32, (1 << 32) + 64):
            with self.assertRaises(shpool.Error, msg=wrong):
                shpool.plan("bitmap", block_threads=64, payload_bytes=wrong)
        with self.assertRaises(shpool.Error):
            shpool.plan("bitmap", block_threads="64", payload_bytes=64)
        with self.assertRaises(shpool.Error):
            shpool.plan("bitmap", block_threads=64, payload_bytes=64, spill="sometimes")

    def test_requests_reach_the_plan(self):
        pool = shpool.plan("freelist", block_threads=1, requests=[(2, 8192)])
        self.assertEqual(pool.largest, 16384)
        pool = shpool.plan("arena", block_threads=1, alignment=64, requests=[(3, 100, 64), [1, 4]])
        self.assertGreaterEqual(pool.largest, 3 * 128 + 16)
        for wrong in ([], 5, [5], [(1,)], [(0, 4)], [(1, 2.5)], [(True, 4)], [(1 << 32, 4)],
                      [(1, 4, 32)]):
            with self.assertRaises(shpool.Error):
                shpool.plan("arena", block_threads=1, requests=wrong)
        with self.assertRaisesRegex(shpool.Error, "leave both 0"):
            shpool.plan("arena", block_threads=1, payload_bytes=64, requests=[(1, 4)])

    def test_options_reach_the_plan(self):
        pool = shpool.plan("warp_best_fit", block_threads=64, payload_bytes=8192,
                           threads_per_pool=16, alignment=64, stats=True, spill="arena")
        self.assertEqual((pool.pools, pool.alignment), (4, 64))
        self.assertTrue(pool.counted and pool.spills and pool.area_bytes > 0)
        self.assertFalse(shpool.plan("bitmap", block_threads=1, payload_bytes=64).counted)

    def test_words_are_those_of_the_structure(self):
        """What Numba passes to a kernel."""
        pool = shpool.plan("bitmap", block_threads=256, payload_bytes=32 * 1024)
        words = [word & 0xffffffffffffffff for word in pool]
        self.assertEqual(words[0], 224 << 32 | 2)
        self.assertEqual(words[2] & 0xffffffff, pool.shared_bytes)
        self.assertEqual(len(pool), 11)
        struct = _c.PoolStruct(report=0x1122334455667788, system_bytes=1, spill_bytes=2,
                               spill_shift=3, spill_slots=1 << 31)
        words = [word & 0xffffffffffffffff for word in shpool.Pool(struct)]
        self.assertEqual(words[8:], [0x1122334455667788, 2 << 32 | 1, 1 << 63 | 3])

    def test_a_planned_pool_has_no_report(self):
        with self.assertRaises(shpool.Error):
            shpool.plan("bitmap", block_threads=1, payload_bytes=16).report()

    def test_allocators_and_headers_are_there(self):
        self.assertIn("bitmap", shpool.allocators())
        self.assertTrue(os.path.exists(os.path.join(shpool.include(), "shpool", "shpool.cuh")))
        self.assertRegex(shpool.version(), r"^\d+\.\d+\.\d+$")

    def test_opening_without_a_gpu_says_why(self):
        """Without nvcc's part, without a driver, or without a device: never a crash."""
        try:
            shpool.open("bitmap", block_threads=32, payload_bytes=4096).close()
        except shpool.Error as error:
            self.assertIn(error.name, ("UNSUPPORTED", "CUDA"))
            self.assertRegex(str(error), "nvcc|driver|device")

    def test_another_library_after_the_first_is_an_error(self):
        shpool.version()
        with self.assertRaises(shpool.Error):
            shpool.load("/nowhere/libshpool.so")

    def test_a_library_that_is_not_there_is_a_clear_error(self):
        code = ("import shpool\ntry: shpool.load('/nowhere/libshpool.so')\n"
                "except shpool.Error as error: print(error.name, error)")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
        self.assertIn(b"UNSUPPORTED", done.stdout)
        self.assertIn(b"pip install", done.stdout)

    def test_after_a_refused_library_no_call_uses_one(self):
        names = [name for name in _c._FUNCTIONS if name != "shpool_last_error"]
        source = 'const char *shpool_last_error(void) { return "of another version"; }\n' + "".join(
            f"int {name}(void) {{ return -10; }}\n" for name in names)
        with compiled(source, "-shared", "-fPIC", "-w") as wrong:
            for path in (wrong, "/nowhere/libshpool.so"):
                code = ("import shpool\n"
                        f"for call in (lambda: shpool.load({path!r}), shpool.version,\n"
                        "  lambda: shpool.plan('bitmap', block_threads=1, payload_bytes=16)):\n"
                        "  try: print('used', call())\n"
                        "  except shpool.Error as error: print(error.name)\n"
                        f"shpool.load({library_path()!r})\nprint(shpool.version())")
                done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                      check=True)
                name = "ABI" if path == wrong else "UNSUPPORTED"
                self.assertEqual(done.stdout.decode().split(), [name] * 3 + [shpool.version()])

    def test_import_does_not_load_cuda(self):
        code = ("import shpool, sys\nshpool.plan('bitmap', block_threads=1, payload_bytes=16)\n"
                "print('libcuda' in open('/proc/self/maps').read(), 'torch' in sys.modules)")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.split(), [b"False", b"False"])


# every argument of every function that hands it to C: what is out of type or range
ARGUMENTS = """
import ctypes, sys, types
for name in ("torch", "cupy", "numpy"):
    sys.modules[name] = types.SimpleNamespace(
        __version__="13.0", version=types.SimpleNamespace(cuda="13.0"))
def no_device(name):
    raise TypeError(name)
sys.modules["torch"].device = no_device
import shpool, shpool.cupy, shpool.executor, shpool.torch

class Odd:
    __hash__ = None
    def __repr__(self):
        return "odd"

ANY = [Odd(), 1.5, float("nan"), [], {}, b"bytes", lambda: 0]
TEXT = ANY + ["bitmap\\0:check=1", 5, -1, True]
WORD = ANY + [None, "64", -1, 1 << 32, (1 << 32) + 1, 1 << 64, True]
LONG = ANY + [None, "64", -1, 1 << 64, True]
FLAG = ANY + [None, "no", 2, -1]
SHAPE = WORD + [(), (1, 1, 1, 1), (1, -1), ("a",), (1, (1 << 32) + 1)]
CODE = ANY[:5] + ANY[6:] + [None, "code", 5]
POOL = ANY + [None, "bitmap", 5]
pool = shpool.plan("bitmap", block_threads=32, payload_bytes=4096)
executed = shpool.executor.open("bitmap", block_threads=32, payload_bytes=4096, stats=True)
report = executed.report()
closed = shpool.executor.open("bitmap", block_threads=32, payload_bytes=4096, stats=True)
closed.close()
kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda argument: None)
null = ctypes.CFUNCTYPE(None, ctypes.c_void_p)()
plan = dict(block_threads=32, payload_bytes=4096)
run = dict(kernel=kernel)
link = dict(kernel=b"x", spec="bitmap", arch="sm_90")
calls = [(shpool.load, {}, "path", TEXT), (shpool.find_arch, {}, "name", TEXT + [None]),
         (shpool.report, {}, "pool", POOL + [closed]),
         (shpool.cupy.options, {}, "pool", POOL + [closed]),
         (shpool.cupy.argument, {}, "pool", POOL + [closed]),
         (shpool.cupy.launch, dict(kernel=0, grid=1, block=1), "pool", POOL + [closed]),
         (shpool.cupy.launch, dict(kernel=0, grid=1, block=1, pool=pool), "shared_mem", WORD),
         (shpool.executor.run, {}, "kernel", CODE + [b"rows", null]),
         (shpool.executor.run, run, "argument", ANY + ["text", 5]),
         (shpool.executor.run, run, "engine", TEXT + [None]),
         (shpool.torch.extension, {}, "allocator_name", TEXT + [None]),
         (shpool.torch.extension, {}, "check", FLAG), (shpool.torch.extension, {}, "spill", FLAG)]
for name, bad in (("kernel", CODE), ("spec", TEXT + [None]), ("arch", TEXT + [None])):
    calls.append((shpool.link, link, name, bad))
for function in (shpool.plan, shpool.executor.open):
    calls.append((function, plan, "spec", TEXT))
    for name in ("block_threads payload_bytes total_bytes threads_per_pool alignment "
                 "shared_limit spill_bytes spill_blocks request_bytes").split():
        calls.append((function, plan, name, WORD))
    calls += [(function, plan, "stats", FLAG), (function, plan, "check", FLAG),
              (function, plan, "spill", TEXT + [None])]
calls.append((shpool.plan, plan, "arch", TEXT))
for function in (pool.blocks_per_sm, report.advise):
    calls += [(function, {}, "arch", TEXT + [None]),
              (function, dict(arch="sm_90"), "other_shared", WORD)]
for name in ("grid", "block", "cluster"):
    calls.append((shpool.executor.run, run, name, SHAPE))
for name in "dynamic_bytes switch_period timeout_ms static_bytes fill from_zero".split():
    calls.append((shpool.executor.run, run, name, WORD))
for name in ("seed", "max_switches"):
    calls.append((shpool.executor.run, run, name, LONG))
calls.append((shpool.executor.run, run, "grdi", [1]))
for function in (shpool.torch.stats, shpool.torch.memory_stats,
                 shpool.torch.reset_peak_memory_stats):
    calls.append((function, {}, "device", WORD + [1 << 31]))
tried = 0
for function, others, name, values in calls:
    for value in values:
        tried += 1
        try:
            result = function(**{**others, name: value})
        except shpool.Error:
            continue
        except BaseException as error:
            print(f"{function.__name__}({name}={value!r}): {type(error).__name__} {error}")
        else:
            print(f"{function.__name__}({name}={value!r}): accepted, {result!r}")
print(tried, "tried")
"""


class Arguments(unittest.TestCase):
    def test_each_one_out_of_type_or_range_is_an_error(self):
        done = subprocess.run([sys.executable, "-c", ARGUMENTS], stdout=subprocess.PIPE, check=True)
        *wrong, last = done.stdout.decode().splitlines()
        self.assertEqual(wrong, [])
        self.assertGreater(int(last.split()[0]), 700)


class Versions(unittest.TestCase):
    """Other packages in their place, of versions that do not do."""

    def error_of(self, module, version, call, more=""):
        code = (f"import sys, types\nold = types.ModuleType('{module}')\n"
                f"old.__version__ = '{version}'\n{more}\nsys.modules['{module}'] = old\n"
                f"try:\n    import shpool.{call.split('.')[0]}\n    shpool.{call}\n"
                "except (ImportError, __import__('shpool').Error) as error: print(error)")
        done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
        return done.stdout.decode()

    def test_old_packages_are_refused_with_both_versions(self):
        numpy = "sys.modules['numpy'] = types.ModuleType('numpy')"
        for module, version, call, more, text in (
                ("numba_cuda", "0.29.3", "numba", "", "numba-cuda 0.30 or newer, this is 0.29.3"),
                ("torch", "1.13.1", "torch.allocator()", "", "PyTorch 2.1 or newer, this is 1.13"),
                ("torch", "2.11.0", "torch.allocator()",
                 "old.version = types.SimpleNamespace(cuda=None)", "built without CUDA"),
                ("cupy", "11.6.0", "cupy.allocator()", numpy, "CuPy 12 or newer, this is 11.6.0")):
            with self.subTest(module, version=version):
                self.assertIn(text, self.error_of(module, version, call, more))

    def test_numbas_simulator_is_refused(self):
        said = self.error_of("numba_cuda", "0.30.4", "numba",
                             "__import__('os').environ['NUMBA_ENABLE_CUDASIM'] = '1'")
        self.assertIn("unset that; shpool.executor runs C kernels", said)

    def test_missing_packages_are_named(self):
        for module, call, text in (("numba_cuda", "numba", "pip install 'numba-cuda[cu13]'"),
                                   ("torch", "torch", "pip install torch"),
                                   ("cupy", "cupy", "cupy-cuda13x")):
            code = (f"import sys\nsys.modules['{module}'] = None\n"
                    f"try: import shpool.{call}\nexcept ImportError as error: print(error)")
            done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
            self.assertIn(text, done.stdout.decode())


SHARES = """
import sys, types
torch = types.ModuleType("torch")
torch.__version__ = "2.11.0"
torch.version = types.SimpleNamespace(cuda="13.0")
class UntypedStorage:
    def data_ptr(self):
        return 4096
    def _share_cuda_(self, more):
        return "PyTorch shares " + more
class Pluggable:
    def __init__(self, path, malloc, free):
        pass
    def allocator(self):
        return self
torch.UntypedStorage = UntypedStorage
torch.cuda = types.SimpleNamespace(memory=types.SimpleNamespace(CUDAPluggableAllocator=Pluggable))
sys.modules["torch"] = torch
import shpool.torch
shpool.torch.allocator()
shpool.torch.allocator()
print(UntypedStorage()._share_cuda_("it"))
shpool._c.lib().shpool_torch_base_alloc = lambda ptr, size: ptr
try: print(UntypedStorage()._share_cuda_("it"))
except shpool.Error as error: print(error.name, error)
"""


STATS = SHARES.split("shpool.torch.allocator()", maxsplit=1)[0] + """
def counted(device):
    return shpool._c.DeviceStats(live_bytes=5, live_bytes_peak=7, pending_bytes=1, driver_bytes=11,
                                 driver_bytes_peak=13, mallocs=4, frees=3, failures=2)
shpool.torch.stats = counted
found = shpool.torch.memory_stats(0)
for name in ("allocated_bytes.all.current", "allocated_bytes.all.peak", "active_bytes.all.current",
             "reserved_bytes.all.current", "reserved_bytes.all.peak", "allocation.all.allocated",
             "allocation.all.freed", "num_ooms"): print(found[name])
try: shpool.torch.reset_peak_memory_stats(99)
except shpool.Error as error: print(error.name)
"""


# CuPy's part that shpool.cupy calls, and the library's, which print what they get
STREAMS = """
import gc, sys, threading, types
class Stream:
    def __init__(self, ptr):
        self.ptr = ptr
    def __del__(self):
        print("gone", self.ptr)
class Memory:
    def __init__(self, ptr, size, owner, device):
        self.ptr, self.owner = ptr, owner
class OutOfMemoryError(Exception):
    pass
cupy = types.ModuleType("cupy")
cupy.__version__ = "14.2.0"
cupy.cuda = types.SimpleNamespace(
    UnownedMemory=Memory, MemoryPointer=lambda memory, offset: memory,
    runtime=types.SimpleNamespace(getDevice=lambda: 3), get_current_stream=lambda: current,
    memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError))
sys.modules.update(cupy=cupy, numpy=types.ModuleType("numpy"))
import shpool.cupy
library = shpool._c.lib()
status = freed = 0
def device_malloc(shared, size, stream, ptr_p):
    print("malloc", size, stream)
    ptr_p._obj.value = None if status else 4096
    return status
def device_free(shared, ptr, stream):
    print("free", stream)
    return freed
library.shpool_device_malloc = device_malloc
library.shpool_device_free = device_free
library.shpool_cupy_free = lambda param, ptr, device: print("wait for device", device)
shpool._c.shared = lambda device: device
malloc = shpool.cupy.allocator()
def use(ptr, thread=False):
    global current
    current = Stream(ptr)
    kept = [malloc(100)]
    current = Stream(99)
    drop = kept.clear
    if thread:
        other = threading.Thread(target=drop)
        other.start()
        other.join()
    else:
        drop()
    print(";")
"""


class Streams(unittest.TestCase):
    """CuPy's arrays are freed on the stream that they were allocated on."""

    def printed(self, code):
        done = subprocess.run([sys.executable, "-u", "-c", STREAMS + code], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=True)
        return done.stdout.decode().replace("\n", " ")

    def test_cupy_s_memory_keeps_its_stream(self):
        for call, want in (
                ("use(0)", "malloc 100 0 free 0 gone 0 ;"),
                ("use(1)", "malloc 100 1 free 1 gone 1 ;"),
                ("use(70)", "malloc 100 70 free 70 gone 70 ;"),  # not of stream 99, and before
                ("use(70, thread=True)", "malloc 100 70 free 70 gone 70 ;"),
                ("use(2)", "malloc 100 2 free 2 gone 2 ;"),
                ("use(2, thread=True)", "malloc 100 2 wait for device 3 gone 2 ;")):
            with self.subTest(call):
                self.assertTrue(self.printed(call).startswith(want), self.printed(call))

    def test_a_shortage_is_cupy_s_error(self):
        for number, name in ((-3, "OutOfMemoryError"), (-19, "OutOfMemoryError"),
                             (-6, "OutOfMemoryError"), (-12, "Error")):
            code = (f"status = {number}\ncurrent = Stream(5)\n"
                    "try: malloc(100)\nexcept Exception as error: print(type(error).__name__)")
            self.assertIn("malloc 100 5 " + name, self.printed(code))

    def test_a_free_that_fails_is_shown(self):
        code = "freed = -12\ncurrent = Stream(5)\nmalloc(100)"
        self.assertIn("free 5 Exception ignored", self.printed(code))

    def test_at_exit_nothing_is_freed(self):
        code = "current = Stream(5)\nmalloc(100).owner.__del__(lambda: True)\nprint('end')"
        self.assertTrue(self.printed(code).startswith("malloc 100 5 free 5 end"))


BACKEND = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python",
                       "backend.py")


@unittest.skipUnless(os.path.exists(BACKEND), "without the sources")
class Wheel(unittest.TestCase):
    """pip calls the backend in the folder python."""

    def test_a_build_is_found_from_the_source_folder(self):
        spec = importlib.util.spec_from_file_location("backend", BACKEND)
        backend = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(backend)
        packed = []
        backend._run = lambda command, folder: None
        backend._pack = lambda stage, to, version: packed.append(stage)
        with tempfile.TemporaryDirectory(prefix="shpool-wheel.") as folder:
            with self.assertRaisesRegex(SystemExit, "is not a build of libshpool"):
                backend.build_wheel("", {"build": folder})
            with open(os.path.join(folder, "config.status"), "wb"):
                os.makedirs(os.path.join(folder, "python", "stage"))
            for name in (folder, os.path.relpath(folder, backend.TOP)):
                backend.build_wheel("", {"build": name})
                self.assertTrue(os.path.samefile(packed.pop(), folder + "/python/stage"), name)


class Statistics(unittest.TestCase):
    def test_numbers_have_the_names_of_pytorch(self):
        done = subprocess.run([sys.executable, "-c", STATS], stdout=subprocess.PIPE, check=True)
        *numbers, error = done.stdout.decode().split()
        self.assertEqual(numbers, ["5", "7", "6", "11", "13", "4", "3", "2"])
        self.assertIn(error, ("UNSUPPORTED", "CUDA", "INVALID", "NOT_FOUND"))


class Sharing(unittest.TestCase):
    def test_torch_multiprocessing_is_refused_for_our_memory_only(self):
        done = subprocess.run([sys.executable, "-c", SHARES], stdout=subprocess.PIPE, check=True)
        first, second = done.stdout.decode().splitlines()
        self.assertEqual(first, "PyTorch shares it")
        self.assertIn("UNSUPPORTED", second)
        self.assertIn("tensor.cpu()", second)


class Links(unittest.TestCase):
    def test_garbage_is_refused_in_words(self):
        with self.assertRaises(shpool.Error) as caught:
            shpool.link(b"no LTO-IR", "bitmap", "sm_90")
        self.assertIn(caught.exception.name, ("LINK", "UNSUPPORTED"))
        with self.assertRaises(shpool.Error) as caught:
            shpool.link(b"no LTO-IR", "bitmap", "sm_12")
        self.assertEqual(caught.exception.name, "NOT_FOUND")


class Executor(unittest.TestCase):
    def run_rows(self, leak=0, less=0, **launch):
        with compiled(KERNEL, "-shared", "-fPIC", library_path()) as made:
            kernels = ctypes.CDLL(made)
            with shpool.executor.open("bitmap", block_threads=32, payload_bytes=4096,
                                      check=True) as pool:
                out = (ctypes.c_uint32 * 64)()
                argument = Argument(pool.struct, out, leak)
                shpool.executor.run(kernels.rows, argument, grid=2, block=32,
                                    dynamic_bytes=pool.shared_bytes - less, **launch)
                return list(out), pool.report(), kernels, pool

    def test_rows_are_added_up(self):
        for launch in ({}, {"seed": 7, "switch_period": 2}, {"engine": "threads"}):
            with self.subTest(launch):
                out, report, *_ = self.run_rows(**launch)
                want = [sum(i + rank for i in range(1 + rank % 7)) for rank in range(32)]
                self.assertEqual(out, want + want)
                self.assertEqual((report.mallocs, report.failures, report.live, report.blocks),
                                 (64, 0, 0, 2))

    def test_leaks_are_listed(self):
        _, report, *_ = self.run_rows(leak=3)
        self.assertEqual((report.live, report.leaks, len(report.leak)), (6, 6, 6))
        self.assertEqual(sorted({leak.thread for leak in report.leak}), [0, 1, 2])
        self.assertIn("6 never freed", str(report))

    def test_the_manuals_example_runs(self):
        """doc/PYTHON.md: rows.c, the command that compiles it, and the program."""
        page = os.path.join(os.path.dirname(__file__), "..", "..", "doc", "PYTHON.md")
        if not os.path.exists(page):
            self.skipTest("the tests are not in a source folder")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        kernel = re.search(r"^```c\n(.*?)^```", text, re.M | re.S).group(1)
        program = re.search(r"^```python\n(import ctypes\n.*?)^```", text, re.M | re.S).group(1)
        with compiled(kernel, "-shared", "-fPIC", library_path()) as library:
            folder = os.path.dirname(library)
            os.rename(library, os.path.join(folder, "rows.so"))
            done = subprocess.run([sys.executable, "-c", program], cwd=folder, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(b"bitmap: 32 mallocs, 0 failed, 0 never freed", done.stdout)

    def test_a_closed_pool_is_refused(self):
        """Its words hold the address of the report, which close() freed."""
        pool = shpool.executor.open("bitmap", block_threads=1, payload_bytes=64, stats=True)
        pool.close()
        for use in (iter, shpool.report, lambda pool: pool.shared_bytes,
                    lambda pool: pool.blocks_per_sm("sm_90")):
            with self.assertRaisesRegex(shpool.Error, "closed"):
                use(pool)
        self.assertIn("closed", repr(pool))

    def test_a_pool_that_is_open_at_exit_writes_its_trace(self):
        with tempfile.TemporaryDirectory(prefix="shpool-python.") as folder:
            path = os.path.join(folder, "trace")
            code = ("import shpool.executor\npool = shpool.executor.open("
                    f"'bitmap:trace={path}', block_threads=1, payload_bytes=64)")
            subprocess.run([sys.executable, "-c", code], check=True)
            with open(path, encoding="utf-8") as file:
                self.assertIn("allocator bitmap", file.read())

    def test_an_empty_heap_has_a_reason(self):
        _, report, *_ = self.run_rows(less=16)
        self.assertEqual((report.status, report.mallocs, report.failures, report.refusals),
                         (-8, 64, 64, 64))
        self.assertIn("launch with more dynamic shared memory", report.why)
        self.assertIn(report.why, str(report))

    def test_a_deadlock_is_an_error_in_words(self):
        with compiled(KERNEL, "-shared", "-fPIC", library_path()) as made:
            with self.assertRaises(shpool.Error) as caught:
                shpool.executor.run(ctypes.CDLL(made).stuck, block=4)
        self.assertIn(caught.exception.name, ("DEADLOCK", "DIVERGENCE"))
        self.assertIn("barrier", str(caught.exception))

    def test_an_unknown_engine_is_an_error(self):
        with self.assertRaises(shpool.Error):
            shpool.executor.run(None, engine="gpu")

    def test_advice_of_a_run(self):
        _, report, _, pool = self.run_rows()
        self.assertLessEqual(report.peak_bytes, report.advise("sm_90").payload_bytes)
        pool.close()  # a second time has no effect


if __name__ == "__main__":
    unittest.main()
