"""What is peculiar to kernels as they are compiled here."""

import os

import numpy as np
import pytest
from topple.jit import RUNS_AS_PYTHON, kernel


@kernel
def entry(array, index):
    return array[index]


@pytest.mark.skipif(RUNS_AS_PYTHON, reason="Python counts from the end")
def test_a_negative_index_counts_from_no_end():
    array = np.arange(5)[2:]
    if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
        with pytest.raises(IndexError):
            entry(array, -1)
    else:
        assert entry(array, -1) == 1
