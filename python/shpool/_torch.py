# SPDX-License-Identifier: BSD-3-Clause
"""The C++ part of shpool.torch (cxx/): compiled once for each PyTorch, then loaded from a cache.

The cache is the folder SHPOOL_CACHE_DIR, else shpool in XDG_CACHE_HOME or ~/.cache.  A file's name
is the digest of all that went into it.
"""
import contextlib
import ctypes
import fcntl
import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import tempfile

import torch

import shpool

from . import _c

OLDEST = (2, 6)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cxx")
SOURCES = ("allocator.cc", "ledger.h", "native.h")
# packages of PyPI that have the header which is missing most often
CRT = {"12": "nvidia-cuda-nvcc-cu12", "13": "nvidia-cuda-crt"}


def version():
    """(2, 11)"""
    return tuple(int(part) for part in torch.__version__.split("+", maxsplit=1)[0].split(".")[:2])


def _refused(text):
    return _c.Error(text, -9)


def _compiler():
    try:
        given = shlex.split(os.environ.get("CXX", ""))
    except ValueError as reason:
        raise _refused(f"CXX={os.environ['CXX']} is not a command: {reason}") from None
    for command in (given, ["c++"], ["g++"], ["clang++"]):
        if command and shutil.which(command[0]):
            return command
    raise _refused("no C++ compiler was found (CXX, c++, g++, clang++): apt install g++")


def _cuda_headers():
    """Folders with cuda_runtime.h and crt/host_defines.h of CUDA's toolkit or of PyPI's wheels."""
    wheels = os.path.join(os.path.dirname(os.path.dirname(torch.__file__)), "nvidia")
    nvcc = shutil.which("nvcc")
    folders = [os.path.join(os.environ[name], "include")
               for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)]
    if nvcc:
        folders.append(os.path.join(os.path.dirname(os.path.dirname(nvcc)), "include"))
    folders += [os.path.join(wheels, part, "include")
                for part in ("cu" + torch.version.cuda.split(".", maxsplit=1)[0], "cuda_runtime",
                             "cuda_nvcc", "cuda_crt")]
    folders.append("/usr/local/cuda/include")
    found = [next((one for one in folders if os.path.exists(os.path.join(one, name))), None)
             for name in ("cuda_runtime.h", os.path.join("crt", "host_defines.h"))]
    if None in found:
        major = torch.version.cuda.split(".", maxsplit=1)[0]
        raise _refused("CUDA's headers were not found (CUDA_HOME, nvcc, PyPI's wheels): install "
                       f"the toolkit, or pip install {CRT.get(major, 'CUDA')}")
    return list(dict.fromkeys(found))


def _flags():
    major, minor = version()
    return ["-std=c++17", "-O2", "-g", "-fPIC", "-shared", "-fvisibility=hidden",
            f"-DSHPOOL_TORCH={major * 100 + minor}",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}"]


def _key():
    digest = hashlib.sha256()
    for part in (*_flags(), torch.__version__, str(torch.version.git_version), shpool.version(),
                 _c.path_of_library()):
        digest.update(part.encode() + b"\0")
    for name in SOURCES:
        with open(os.path.join(HERE, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()[:32]


def _folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.environ.get("SHPOOL_CACHE_DIR") or os.path.join(base, "shpool")
    if not os.path.isabs(folder):
        raise _refused(f"the cache {folder} must begin with /: set SHPOOL_CACHE_DIR")
    folder = os.path.realpath(folder)  # a link of another user could change after the check
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        info = os.lstat(folder)
    except OSError as reason:
        raise _refused(f"the cache {folder} cannot be used: {reason}") from None
    if (info.st_uid not in (os.geteuid(), 0) or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            or not stat.S_ISDIR(info.st_mode)):
        raise _refused(f"the cache {folder} belongs to another user or can be written by others: "
                       "set SHPOOL_CACHE_DIR")
    return folder


def _run_time():
    """Arguments that link with the C++ run time of this process, which PyTorch has loaded.

    A second one in the process, as with -static-libstdc++, would have locales of its own, and the
    first message that PyTorch composes for an exception would crash."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaded = next((line.split(maxsplit=5)[-1].strip() for line in maps
                       if "/libstdc++.so.6" in line), None)
    return ["-nodefaultlibs", loaded, "-lm", "-lgcc_s", "-lgcc", "-lc"] if loaded else []


def build(source, path):
    """A shared library against PyTorch and libshpool."""
    top = os.path.dirname(torch.__file__)
    library = _c.path_of_library()
    command = [*_compiler(), *_flags(), source,
               "-I" + shpool.include(), "-isystem", os.path.join(top, "include")]
    for folder in _cuda_headers():
        command += ["-isystem", folder]
    command += ["-L" + os.path.join(top, "lib"), "-ltorch_cuda", "-lc10_cuda", "-lc10",
                library if "/" in library else "-l:" + library, *_run_time()]
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(".so", ".shpool-torch-", os.path.dirname(path))
        os.close(handle)
        done = subprocess.run([*command, "-o", temporary], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            lines = [line for line in done.stdout.decode(errors="replace").splitlines()
                     if not line.startswith("collect2")]  # the linker's own line has the reason
            wrong = [line for line in lines if "error" in line] or lines or ["it said nothing"]
            raise _refused(f"{command[0]} failed: {wrong[0]}")
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())  # a file that a power failure cut would crash each process
        os.replace(temporary, path)
    except OSError as reason:
        raise _refused(f"{path} cannot be written: {reason}") from None
    finally:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


@contextlib.contextmanager
def _alone(folder):
    """Ranks of a program that begin together compile once.  Without locks, as some file systems
    are, each does."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as reason:
        raise _refused(f"the cache {folder} cannot be read: {reason}") from None
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def library():
    """The C++ part; an Error says what is missing."""
    if version() < OLDEST:
        raise _refused(f"PyTorch {torch.__version__} is older than {OLDEST[0]}.{OLDEST[1]}")
    folder = _folder()
    path = os.path.join(folder, f"torch-{_key()}.so")
    if not os.path.exists(path):
        with _alone(folder):
            if not os.path.exists(path):
                build(os.path.join(HERE, SOURCES[0]), path)
    try:
        part = ctypes.CDLL(path)
    except OSError as reason:
        raise _refused(f"{path} cannot be loaded: {reason}; delete it") from None
    part.shpool_torch_install.restype = ctypes.c_char_p
    return part
