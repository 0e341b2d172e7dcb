"""What pytest leaves out here."""

#: Kernels in Triton, which need a GPU: their own run compares them with PyTorch's.
collect_ignore = ["tiled_kernels.py"]
