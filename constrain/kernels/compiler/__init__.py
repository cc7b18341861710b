"""Declaration, compilation and linking of kernels, and their cache."""
