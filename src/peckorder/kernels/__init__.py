"""The numeric core: compiled functions on plain arrays.

A kernel and every function it calls live in one file. Numba's disk cache knows
that a file has changed by the file's own date alone, so a helper in another file
could be edited without the kernels that use it being compiled again.
"""
