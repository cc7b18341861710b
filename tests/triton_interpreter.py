"""Faults of Triton's interpreter that are not those of a kernel."""

import pytest

NUMPY_2_5 = "only 0-dimensional arrays can be converted to Python scalars"  # Triton 3.6 asks for it, 3.9 does not


def skip_where_numpy_is_too_new(output: str) -> None:
    """Skip a test whose kernels the installed Triton cannot interpret with the installed NumPy."""
    if NUMPY_2_5 in output:
        pytest.skip("this Triton's interpreter fails with NumPy 2.5: the kernels were not run by it")
