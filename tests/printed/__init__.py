"""A small program in the Python that costlib is written in, to be printed as JavaScript."""
