"""One signature per kernel: an int or float32 that strays into an argument would compile it again.

A number written out in a call is a type of its own to numba, a kernel more (`np.int64(0)` is none). Looked
at twice: where all kernels are compiled anew, and, after all other tests, in what they compiled, which are
mostly kernels found in the cache and so without those that only kernels call. The functions of `math3` are
exempt: they take a tuple and a row of an array alike.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled in this mode"
)
HALVES = ("compile_narrow_phase", "compile_rest")


def kernels_of_several_signatures() -> dict[str, list]:
    """Signatures of the core's kernels that this process compiled more than once, by full name."""
    from numba.core.dispatcher import Dispatcher

    kernels = {}
    for module_name, module in list(sys.modules.items()):
        if not module_name.startswith("topple.") or module_name.startswith("topple.math3"):
            continue
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == module_name:
                kernels[f"{module_name}.{name}"] = value.signatures
    return {name: found for name, found in kernels.items() if len(found) > 1}


def test_one_signature_where_all_is_compiled_anew(tmp_path):
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, half],
            env={**os.environ, "TOPPLE_CACHE_DIR": str(tmp_path / half), "NUMBA_OPT": "1"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for half in HALVES
    ]
    found = {half: process.communicate()[0] for half, process in zip(HALVES, processes, strict=True)}
    assert found == dict.fromkeys(HALVES, "{}\n")
    assert all(any((tmp_path / half).rglob("*.nbc")) for half in HALVES)


def test_one_signature_in_all_tests():
    assert kernels_of_several_signatures() == {}


if __name__ == "__main__":
    from topple import compilation

    getattr(compilation, sys.argv[1])()
    print(kernels_of_several_signatures())
