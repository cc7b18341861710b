"""How kernels are compiled, linked with each other, and kept in numba's cache."""
