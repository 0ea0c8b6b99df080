# SPDX-License-Identifier: BSD-3-Clause
"""What tests of the Python package share."""
import contextlib
import os
import shlex
import subprocess
import tempfile
import unittest

import shpool


def library_path():
    """The file of the library that is loaded."""
    shpool.version()
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "/libshpool.so" in line)


@contextlib.contextmanager
def compiled(source, *options):
    """The path of what $CC makes of C source; a test without a compiler is skipped."""
    cc = shlex.split(os.environ.get("CC") or "cc")
    with tempfile.TemporaryDirectory(prefix="shpool-python.") as folder:
        path = os.path.join(folder, "made.c")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        made = os.path.join(folder, "made.so" if "-shared" in options else "made")
        command = [*cc, "-std=c11", "-O1", "-I" + shpool.include(), "-o", made, path, *options]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  check=False)
        except OSError as reason:
            raise unittest.SkipTest(f"no C compiler: {reason}") from None
        if done.returncode != 0:
            raise AssertionError(done.stdout.decode(errors="replace"))
        yield made
