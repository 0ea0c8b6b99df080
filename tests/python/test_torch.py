# SPDX-License-Identifier: BSD-3-Clause
"""shpool.torch.enable() without a GPU: the C++ part, what it says if something is missing, and
SHPOOL_TORCH.  Needs PyTorch with CUDA, a C++ compiler and CUDA's headers."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ENABLE = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    {first}
    import torch
    {enable}
print(torch.cuda.get_allocator_backend(), *(one.message for one in said
                                            if "shpool" in str(one.message)))
"""
TWICE = "import shpool.torch; shpool.torch.enable(); shpool.torch.enable()"
REFUSED = ("import shpool.torch\n    try: shpool.torch.enable()\n"
           "    except shpool.Error as error: warnings.warn('shpool: ' + str(error))")
HOOK = "TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
SITECUSTOMIZE = ('import os; os.environ.get("SHPOOL_TORCH", "0") != "0" and '
                 '__import__("shpool.auto")\n')
# a compiler whose linker finds a full disk
FULL = "sh -c 'echo ld: final link failed; echo collect2: error: ld returned 1; exit 1'"


def has_torch():
    try:
        import torch
    except ImportError:
        return False
    return torch.version.cuda is not None


def enabled(enable="import shpool.torch; shpool.torch.enable()", first="", **environment):
    """The allocator that PyTorch has then, and the warnings."""
    done = subprocess.run([sys.executable, "-c", ENABLE.format(first=first,
                                                                  enable=enable)],
                          env=dict(os.environ, **environment), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    text = done.stdout.decode()
    if done.returncode != 0:
        raise AssertionError(text)
    backend, _, said = text.rstrip("\n").partition(" ")
    return backend, said


class Auto(unittest.TestCase):
    """SHPOOL_TORCH=1 with a module that stands in for torch."""

    def test_a_library_that_only_asks_for_torch_does_not_use_it_up(self):
        with tempfile.TemporaryDirectory(prefix="shpool-torch.") as folder:
            with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
                file.write("")
            program = ("import importlib.util, shpool.auto\n"
                       "shpool.auto._enable = lambda: print('enabled')\n"
                       "for _ in range(2): assert importlib.util.find_spec('torch')\n"
                       "import torch\n")
            done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE,
                                  env=dict(os.environ, SHPOOL_TORCH="1", PYTHONPATH=folder + ":" +
                                           os.environ.get("PYTHONPATH", "")), check=True)
            self.assertEqual(done.stdout, b"enabled\n")

    def test_other_values_are_named(self):
        for value, text in (("true", "SHPOOL_TORCH=true has no effect"), ("0", ""), ("", "")):
            done = subprocess.run([sys.executable, "-c", "import shpool.auto"],
                                  env=dict(os.environ, SHPOOL_TORCH=value), check=True,
                                  stderr=subprocess.PIPE)
            self.assertIn(text, done.stderr.decode())
            self.assertEqual(bool(text), bool(done.stderr), value)


@unittest.skipUnless(has_torch(), "no PyTorch with CUDA")
class Enable(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="shpool-torch.")
        self.addCleanup(shutil.rmtree, self.folder)

    def cached(self):
        return [(name, os.stat(os.path.join(self.folder, name)).st_mtime_ns)
                for name in os.listdir(self.folder)]

    def test_statistics_of_a_device_by_number_and_name(self):
        import shpool.torch
        import torch
        for device in (77, "cuda:77", torch.device("cuda", 77)):
            with self.assertRaisesRegex(shpool.Error, "device 77|driver"):
                shpool.torch.stats(device)
        with self.assertRaisesRegex(shpool.Error, "'cpu', not a number or name"):
            shpool.torch.stats("cpu")

    def test_the_cxx_part_is_compiled_once(self):
        self.assertEqual(enabled(SHPOOL_CACHE_DIR=self.folder), ("shpool", ""))
        before = self.cached()
        self.assertEqual(len(before), 1)
        # settings of PyTorch's own allocator, and the variable without a change of the program
        self.assertEqual(
            enabled(SHPOOL_CACHE_DIR=self.folder,
                    PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True,"
                                            "per_process_memory_fraction:0.5,"
                                            "pinned_use_background_threads:True")[1],
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True has an effect on CUDA graphs and "
            "torch.cuda.MemPool only: libshpool divides PyTorch's memory; SHPOOL_DEVICE_ALLOCATOR "
            "has its options")
        # allocators that it does not replace
        caching = "torch._C._cuda_cudaCachingAllocator_enable({})\n    "
        said = enabled("import shpool.torch\n    " + caching.format(False) + REFUSED + "\n    " +
                       caching.format(True) + "torch.cuda.memory.change_current_allocator("
                       "shpool.torch.allocator())\n    " + REFUSED,
                       SHPOOL_CACHE_DIR=self.folder)[1]
        self.assertIn("caching_allocator_enable(False) was called before", said)
        self.assertIn('PyTorch has the allocator "pluggable" already', said)
        with open(os.path.join(self.folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(SITECUSTOMIZE)
        path = self.folder + os.pathsep + os.environ.get("PYTHONPATH", "")
        for value, backend, enable, first in (
                ("1", "shpool", "", ""), ("0", "native", "", ""),
                ("1", "shpool", TWICE, ""),                   # the program enables it, too,
                ("1", "shpool", TWICE, "import shpool.torch")):  # which imports torch
            self.assertEqual(enabled(enable, first, SHPOOL_CACHE_DIR=self.folder,
                                     PYTHONPATH=path, SHPOOL_TORCH=value), (backend, ""))
        os.remove(os.path.join(self.folder, "sitecustomize.py"))
        shutil.rmtree(os.path.join(self.folder, "__pycache__"), ignore_errors=True)
        self.assertEqual(self.cached(), before)

    def test_settings_of_pytorch_that_do_not_go_together(self):
        for setting in ("backend:cudaMallocAsync", "expandable_segments:True, backend:native"):
            backend, said = enabled(REFUSED, SHPOOL_CACHE_DIR=self.folder, CXX="false",
                                    PYTORCH_CUDA_ALLOC_CONF=setting)
            self.assertNotIn(backend, ("shpool", "pluggable"))
            self.assertIn("has backend:", said)
        self.assertIn("PYTORCH_NO_CUDA_MEMORY_CACHING has no effect",
                      enabled(SHPOOL_CACHE_DIR=self.folder, CXX="false",
                              PYTORCH_NO_CUDA_MEMORY_CACHING="1")[1])

    def test_memory_is_not_registered_with_nccl(self):
        taken = TWICE + f"\n    import os; assert '{HOOK}' not in os.environ"
        late = ("import torch.distributed as d\n"
                "    d.init_process_group('gloo', store=d.HashStore(), rank=0, world_size=1)\n    ")
        for enable, value, backend, text in (
                (taken, "1", "pluggable", f"{HOOK}=1 has no effect"),
                (late + REFUSED, "1", "native", f"{HOOK}=1 and init_process_group() came before"),
                (late + TWICE, "0", "pluggable", "false failed"),
                (late + TWICE, "False", "pluggable", "false failed")):
            found, said = enabled(enable, SHPOOL_CACHE_DIR=self.folder, CXX="false",
                                  **{HOOK: value})
            self.assertEqual(found, backend)
            self.assertIn(text, said)

    def test_a_misspelt_allocator_is_an_error(self):
        for setting, text in (("binz", '"binz".*did you mean "bins"'),
                              ("stats|", "a name .* is needed"), ("stats|bins", "")):
            backend, said = enabled(REFUSED, SHPOOL_CACHE_DIR=self.folder, CXX="false",
                                    SHPOOL_DEVICE_ALLOCATOR=setting)
            self.assertEqual(backend, "native" if text else "pluggable", setting)
            self.assertRegex(said, "SHPOOL_DEVICE_ALLOCATOR.*" + text if text else "false failed")

    def test_processes_that_begin_together_compile_it_once(self):
        runs = os.path.join(self.folder, "runs")
        cxx = f"sh -c 'echo run >>{runs}; exec c++ \"$@\"' sh"
        some = [subprocess.Popen([sys.executable, "-c", "import shpool._torch as t; t.library()"],
                                 env=dict(os.environ, SHPOOL_CACHE_DIR=self.folder, CXX=cxx))
                for _ in range(3)]
        self.assertEqual([one.wait() for one in some], [0, 0, 0])
        with open(runs, encoding="ascii") as file:
            self.assertEqual(file.read(), "run\n")

    def test_it_uses_the_cxx_run_time_of_the_process(self):
        self.assertEqual(enabled(SHPOOL_CACHE_DIR=self.folder, CXX="c++ -static-libstdc++"),
                         ("shpool", ""))
        with open(os.path.join(self.folder, self.cached()[0][0]), "rb") as file:
            self.assertIn(b"\0libstdc++.so.6\0", file.read())

    def test_what_is_missing_is_said(self):
        os.chmod(self.folder, 0o777)
        table = (
            ("can be written by others", {}),
            ("no C++ compiler was found", {"PATH": "/nowhere", "CXX": ""}),
            ("false failed", {"CXX": "false"}),
            ("sh failed: ld: final link failed", {"CXX": FULL}),
            ("CXX='c++ is not a command", {"CXX": "'c++"}),
            ("cannot be used", {"SHPOOL_CACHE_DIR": "/dev/null/cache"}),
        )
        for text, environment in table:
            backend, said = enabled(TWICE, **{"SHPOOL_CACHE_DIR": self.folder, **environment})
            self.assertEqual(backend, "pluggable", text)
            self.assertIn(text, said)
            self.assertIn("running out of memory is not an exception", said)
            os.chmod(self.folder, 0o700)


if __name__ == "__main__":
    unittest.main()
