# SPDX-License-Identifier: BSD-3-Clause
"""Numba's External Memory Management plugin, without a GPU: numba-cuda accepts it, and failures
are its exceptions."""
import types
import unittest

try:
    import shpool.numba_memory as memory
    from numba.cuda.cudadrv import driver
except ImportError as missing:
    raise unittest.SkipTest(str(missing)) from None


class Plugin(unittest.TestCase):
    def test_numba_accepts_it(self):
        driver.set_memory_manager(memory._numba_memory_manager)

    def test_failures_are_exceptions_of_numba(self):
        device = types.SimpleNamespace(id=77)  # no machine has it
        manager = memory.Manager(context=types.SimpleNamespace(device=device))
        with self.assertRaisesRegex(driver.CudaAPIError, "driver|device"):
            manager.memalloc(100)
        with self.assertRaisesRegex(NotImplementedError, "has no IPC handle: copy the array"):
            manager.get_ipc_handle(None)


if __name__ == "__main__":
    unittest.main()
