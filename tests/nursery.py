"""Loads what pages load, then forks a kernel for every line that it reads; see kernels.py."""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Each line is a connection file and a folder; what is answered is the kernel's process id."""
    del sys.path[0]  # this folder, which a page does not have
    import matplotlib.pyplot
    import pandas
    import sympy
    from ipykernel.kernelapp import IPKernelApp

    loaded = matplotlib.pyplot, pandas, sympy
    assert all(loaded)
    pandas.set_option("display.max_columns", 20)  # what pandas takes where it meets a kernel
    for line in sys.stdin:
        ended()
        connection, folder = json.loads(line)
        if pid := os.fork():
            print(pid, flush=True)
            continue
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nowhere, stream)
        os.chdir(folder)
        sys.argv[1:] = ["-f", connection]
        IPKernelApp.launch_instance()
        os._exit(0)


def ended() -> None:
    """Let go of the kernels that were ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


if __name__ == "__main__":
    main()
