# SPDX-License-Identifier: BSD-3-Clause
"""The structures of shpool/_c.py match those that a C compiler makes of the headers."""
import subprocess
import unittest

from shpool import _c
from trial import compiled

STRUCTS = {
    "shpool_config": _c.Config, "shpool_pool": _c.PoolStruct, "shpool_bad_free": _c.BadFree,
    "shpool_leak": _c.Leak, "shpool_refused": _c.Refused, "shpool_report_data": _c.ReportData,
    "shpool_arch": _c.Arch, "shpool_advice": _c.Advice, "shpool_blob": _c.Blob,
    "shpool_device_stats": _c.DeviceStats, "simt_launch": _c.Launch, "simt_result": _c.Result,
    "shpool_allocator": _c.AllocatorStruct}
BEGINNINGS = {"shpool_allocator"}  # only their first fields are declared


def c_program():
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#include <shpool/device.h>",
             "#include <shpool/executor.h>", "#include <shpool/shpool.h>", "int main(void) {"]
    for name, struct in STRUCTS.items():
        if name not in BEGINNINGS:
            lines.append(f'printf("{name} {name} %zu 0\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(f'printf("{name} {field} %zu %zu\\n", sizeof((({name} *)0)->{field}), '
                         f"offsetof({name}, {field}));")
    return "\n".join(lines + ["return 0; }"])


class Layout(unittest.TestCase):
    def test_structures_are_those_of_the_headers(self):
        with compiled(c_program()) as program:
            lines = subprocess.run([program], stdout=subprocess.PIPE, check=True).stdout
        count = 0
        for line in lines.decode().splitlines():
            name, field, size, offset = line.split()
            struct = STRUCTS[name]
            with self.subTest(line):
                if field == name:
                    self.assertEqual(ctypes_size(struct), int(size))
                else:
                    self.assertEqual(getattr(struct, field).size, int(size))
                    self.assertEqual(getattr(struct, field).offset, int(offset))
            count += 1
        self.assertGreater(count, 120)

    def test_statuses_are_those_of_the_headers(self):
        lines = ["#include <stdio.h>", "#include <shpool/abi.h>", "int main(void) {"]
        for number, name in _c.STATUS.items():
            constant = "SHPOOL_OK" if number == 0 else f"SHPOOL_ERR_{name}"
            lines.append(f"if ({constant} != {number}) {{ puts(\"{name}\"); }}")
        lines.append("return SHPOOL_ABI != %d; }" % _c.ABI)
        with compiled("\n".join(lines)) as program:
            done = subprocess.run([program], stdout=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b""))


def ctypes_size(struct):
    import ctypes

    return ctypes.sizeof(struct)


if __name__ == "__main__":
    unittest.main()
