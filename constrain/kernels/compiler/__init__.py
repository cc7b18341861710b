"""How kernels are declared, compiled, linked with each other, and kept in numba's cache."""
