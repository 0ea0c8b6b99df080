# SPDX-License-Identifier: BSD-3-Clause
"""Makes the wheel (PEP 517): pip install ./python

    pip install ./python      configures and builds the library in a folder of its own, for the
                              GPU that is there, else for sm_75 and PTX; in the source folder, if
                              that is configured; pip -v shows the steps
    pip install ./python --config-settings=build=FOLDER    uses the build in FOLDER, whose name may
                              begin in the source folder
    pip install ./python --config-settings=configure=--with-cuda-arch=all
    packaging/wheels.sh FOLDER   a wheel for each set of architectures, label=sm90 in its version
    python3 python/backend.py FOLDER [TO]                  the wheel of the build in FOLDER

The wheel is for any Python 3.9 or newer, and for every Linux whose C library is not older than its
files need (manylinux_2_X, by what readelf says).  It contains libshpool.so, the headers, the tools,
and, if nvcc was found, the device library and the LTO-IR.  Needs no package besides pip.
"""
import base64
import hashlib
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
METADATA = """Metadata-Version: 2.1
Name: shpool
Version: {version}
Summary: malloc and free for CUDA kernels: from Numba, CuPy, PyTorch and C
License: BSD-3-Clause
Author: the libshpool contributors
Keywords: CUDA,GPU,malloc,shared memory,PyTorch,CuPy,Numba
Classifier: Environment :: GPU :: NVIDIA CUDA
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: numba
Requires-Dist: numba-cuda>=0.30; extra == "numba"
Provides-Extra: torch
Requires-Dist: torch>=2.1; extra == "torch"
Requires-Dist: nvidia-cuda-crt; extra == "torch"
Description-Content-Type: text/markdown

{text}"""


def _version(label=None):
    with open(os.path.join(TOP, "configure.ac"), encoding="utf-8") as file:
        own = re.search(r"AC_INIT\(\[libshpool\], *\[([0-9.]+)\]", file.read()).group(1)
    return f"{own}+{label}" if label else own


# what every Linux has (PEP 600)
EVERYWHERE = re.compile(r"lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so\.\d+$|ld-linux.*|"
                        r"libshpool\.so\.0$")


def _readelf(path):
    try:
        return subprocess.run(["readelf", "-dVW", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False).stdout.decode()
    except OSError:
        return ""


def _tag(stage):
    """py3-none-manylinux_2_X_MACHINE, from the C library's versions that the files need; with
    another library that they need, or without readelf, this machine's own platform."""
    newest, platform = (), re.sub(r"[-.]", "_", sysconfig.get_platform())
    for folder, _, files in os.walk(stage):
        for name in files:
            text = _readelf(os.path.join(folder, name))
            newest = max([newest, *(tuple(map(int, found.split(".")))
                                    for found in re.findall(r"GLIBC_(\d+\.\d+)", text))])
            needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
            if not all(map(EVERYWHERE.match, needed)):
                return "py3-none-" + platform
    if not newest:
        return "py3-none-" + platform
    return "py3-none-" + platform.replace("linux", "manylinux_{}_{}".format(*newest[:2]))


def _run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    if done.returncode != 0:
        lines = done.stdout.decode(errors="replace").splitlines()
        sys.exit("\n".join(lines[-30:]) + f"\n{' '.join(command)}: exit {done.returncode}")


def _gpus():
    """The architectures of the GPUs that are there, as configure's list; "": there is none."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    found = re.findall(r"^(\d+)\.(\d+)$", done.stdout.decode(), re.M)
    return ",".join(sorted({major + minor for major, minor in found}, key=int))


def _step(text):
    print(f"libshpool: {text}", file=sys.stderr, flush=True)


def _build(folder, options):
    if not any(option.startswith(("--with-cuda-arch", "--without-cuda")) for option in options):
        gpus = _gpus()
        _step(f"for sm_{gpus.replace(',', ', sm_')}" if gpus else
              "no GPU: for sm_75, and PTX for later ones; for all of them "
              "--config-settings=configure=--with-cuda-arch=all")
        options = [f"--with-cuda-arch={gpus or 75}", "--disable-bench-kernels", *options]
    if not os.path.exists(os.path.join(TOP, "configure")):
        _step("autogen.sh")
        _run(["./autogen.sh"], TOP)
    _step("configure")
    _run([os.path.join(TOP, "configure"), "--disable-static", *options], folder)
    _step("make; this takes a minute or two")
    _run(["make", f"-j{os.cpu_count() or 1}", "python-stage"], folder)


def _record(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def _files(stage):
    for folder, names, files in os.walk(stage):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                yield os.path.relpath(path, stage), file.read(), os.access(path, os.X_OK)


def _info_files(tag, version):
    """The files of the folder .dist-info, except its RECORD."""
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        metadata = METADATA.format(version=version, text=file.read())
    with open(os.path.join(TOP, "LICENSE"), "rb") as file:
        license_text = file.read()
    scripts = "[console_scripts]\nshpool-check = shpool.__main__:check\n"
    return [("LICENSE", license_text), ("METADATA", metadata.encode()),
            ("entry_points.txt", scripts.encode()),
            ("WHEEL", (f"Wheel-Version: 1.0\nGenerator: libshpool {version}\n"
                       f"Root-Is-Purelib: false\nTag: {tag}\n").encode())]


def _pack(stage, to, version):
    tag = _tag(stage)
    info, scripts = (f"shpool-{version}.{kind}" for kind in ("dist-info", "data/scripts"))
    wheel = f"shpool-{version}-{tag}.whl"
    files = [(re.sub("^scripts/", scripts + "/", name), *rest) for name, *rest in _files(stage)]
    files += [(f"{info}/{name}", data, False) for name, data in _info_files(tag, version)]
    record = "".join(_record(name, data) for name, data, _ in files) + f"{info}/RECORD,,\n"
    files.append((f"{info}/RECORD", record.encode(), False))
    with zipfile.ZipFile(os.path.join(to, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, executable in files:
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))  # a fixed date
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
    return wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    version = _version((config_settings or {}).get("label"))
    info = f"shpool-{version}.dist-info"
    os.mkdir(os.path.join(metadata_directory, info))
    for name, data in _info_files(_tag(os.devnull), version):
        with open(os.path.join(metadata_directory, info, name), "wb") as file:
            file.write(data)
    return info


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    settings = config_settings or {}
    version = _version(settings.get("label"))
    configured = os.path.exists(os.path.join(TOP, "config.status"))
    if "build" in settings or configured:
        build = os.path.join(TOP, settings.get("build", ""))  # pip's own folder is another one
        if not os.path.exists(os.path.join(build, "config.status")):
            sys.exit(f"{build} is not a build of libshpool; ./quickstart makes build/main")
        _run(["make", "python-stage"], build)
        return _pack(os.path.join(build, "python", "stage"), wheel_directory, version)
    options = settings.get("configure", [])
    with tempfile.TemporaryDirectory(prefix="shpool-wheel.") as build:
        _build(build, [options] if isinstance(options, str) else options)
        return _pack(os.path.join(build, "python", "stage"), wheel_directory, version)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    print(_pack(os.path.join(sys.argv[1], "python", "stage"), (sys.argv + ["."])[2], _version()))
