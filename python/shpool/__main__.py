# SPDX-License-Identifier: BSD-3-Clause
"""Flags for compilers, for programs over the library of this package:

    cc app.c $(python3 -m shpool --cflags --libs) -o app
    nvcc -rdc=true app.cu $(python3 -m shpool --cflags --libs) -o app
    python3 -m shpool --version
"""
import os
import shlex
import sys

import shpool


def libs():
    """-L, -l and -rpath; the system's library needs none of the folders."""
    folder = shpool.libraries()
    if folder is None:
        return ["-lshpool"]
    device = os.path.exists(os.path.join(folder, "libshpool_device.a"))
    return ["-L" + folder, *(["-lshpool_device"] if device else []), "-lshpool", "-Xlinker",
            "-rpath=" + folder]


ANSWERS = {"--cflags": lambda: ["-I" + shpool.include()], "--libs": libs,
           "--version": lambda: [shpool.version()]}


def main(words):
    """The exit status."""
    if not words or not set(words) <= set(ANSWERS):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    print(" ".join(shlex.quote(one) for word in words for one in ANSWERS[word]()))
    return 0


def check():
    """The wheel's command shpool-check, with the headers and libraries beside this file."""
    native = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")
    tool = os.path.join(native, "bin", "shpool-check")
    os.execv(tool, ["shpool-check", "--root", native, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
