# SPDX-License-Identifier: BSD-3-Clause
"""shpool.torch.enable() at `import torch`, in programs that cannot be changed.

One line in sitecustomize.py (python3 -m site lists the folders in which it may be):

    import os; os.environ.get("SHPOOL_TORCH", "0") != "0" and __import__("shpool.auto")
"""
import importlib
import importlib.util
import os
import sys
import warnings


class _AfterTorch:
    """A finder of modules that calls enable() after the import of torch."""
    asking = False
    waiting = False

    @classmethod
    def find_spec(cls, name, _path=None, _target=None):
        if name != "torch" or cls.asking:
            return None
        cls.asking = True  # the other finders
        try:
            spec = importlib.util.find_spec(name)
        finally:
            cls.asking = False
        if spec is not None:
            run = spec.loader.exec_module

            def exec_module(module):  # not called where a library only asks whether torch is there
                if cls in sys.meta_path:
                    sys.meta_path.remove(cls)
                run(module)
                if "shpool.torch" in sys.modules:  # which imports torch, and is not complete yet
                    cls.waiting = True
                else:
                    _enable()

            spec.loader.exec_module = exec_module
        return spec


def _enable():
    import shpool

    try:
        importlib.import_module("shpool.torch").enable()
    except (ImportError, shpool.Error) as reason:
        warnings.warn(f"SHPOOL_TORCH=1 has no effect: {reason}", RuntimeWarning, stacklevel=2)


def ready():
    """shpool.torch is complete."""
    if _AfterTorch.waiting:
        _AfterTorch.waiting = False
        _enable()


def _begin(value):
    if value == "1" and "torch" in sys.modules:
        _enable()
    elif value == "1":
        sys.meta_path.insert(0, _AfterTorch)
    elif value not in ("", "0"):
        warnings.warn(f"SHPOOL_TORCH={value} has no effect: 1 lets PyTorch allocate from "
                      "libshpool, 0 does not", RuntimeWarning, stacklevel=2)


_begin(os.environ.get("SHPOOL_TORCH", ""))
