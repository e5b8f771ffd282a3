"""One signature per kernel: an int or float32 that strays into an argument would compile it again.

Runs after all other tests and looks at what they compiled. The functions of `math3` are exempt: they
take a tuple and a row of an array alike.
"""

import os
import sys

import pytest


def compiled_kernels() -> dict[str, list]:
    """Signatures of every compiled kernel of the core, by full name."""
    from numba.core.dispatcher import Dispatcher

    kernels = {}
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("topple.") or module_name.startswith("topple.math3"):
            continue
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module_name:
                kernels[f"{module_name}.{name}"] = value.signatures
    return kernels


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled in this mode")
def test_one_signature_per_kernel():
    several = {name: found for name, found in compiled_kernels().items() if len(found) > 1}
    assert several == {}
