"""Kernels that only systems of this wing call. They are declared, and so compiled, when one of these files is imported.

Of diffusion/: layers. Of cuts/: conflicts, tokens_at, lookahead.
"""
