"""Kernels for the pages: each alone in an empty folder, with costlib as it is published."""

from __future__ import annotations

import atexit
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from unittest import mock

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file
from nbval.kernel import RunningKernel

from paths import ROOT, TESTS


class Alone(RunningKernel):  # type: ignore[misc]
    """A kernel that has nothing around it, and says so when a page leaves something behind."""

    def __init__(self, kernel_name: str, cwd: str, startup_timeout: int = 60) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{Path(cwd).name}-alone-"))
        self.begin(kernel_name, startup_timeout)

    def begin(self, kernel_name: str, timeout: int) -> None:
        """Start it in the folder."""
        with mock.patch.dict(os.environ, PYTHONPATH=published_library()):
            super().__init__(kernel_name, str(self.folder), timeout)

    def stop(self) -> None:
        """End it, and look at what the page left."""
        super().stop()
        left = os.listdir(self.folder)
        shutil.rmtree(self.folder)
        assert left == [], "a page leaves files behind"


class Forked(Alone):
    """The same, forked from a process that has loaded what pages load; costlib it imports itself.

    A page would wait a second and a half for its kernel, NumPy, pandas, matplotlib and SymPy. What
    a fork hides (a page that leans on a library it does not import) is seen by `make sync` and
    `make colab-check`, and in Colab's own image every week: their kernels begin with nothing.
    """

    def begin(self, kernel_name: str, timeout: int) -> None:
        """Fork it; the connection is by files, so that no port can be taken meanwhile."""
        assert kernel_name == "python3"
        self.sockets = Path(tempfile.mkdtemp(prefix="kernel-"))
        file, _ = write_connection_file(
            str(self.sockets / "file.json"), ip=str(self.sockets / "s"), transport="ipc"
        )
        self.kc = BlockingKernelClient(connection_file=file)
        self.kc.load_connection_file()
        self.pid = nursery().fork(file, self.folder)
        self.kc.start_channels(hb=False)  # a busy machine misses a beat, and is alive all the same
        self.kc.wait_for_ready(timeout=timeout)
        self._ensure_iopub_up()

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        return state != "Z"  # ended, and nobody has looked

    def interrupt(self) -> None:
        """Stop the cell that runs."""
        os.kill(self.pid, signal.SIGINT)

    @property
    def km(self) -> Forked:
        """Its own manager: what is asked of one is to shut it down."""
        return self

    @km.deleter
    def km(self) -> None:
        shutil.rmtree(self.sockets)

    def shutdown_kernel(self, *, now: bool) -> None:
        """End it at once."""
        assert now
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)


class Nursery:
    """The process that kernels are forked from."""

    def __init__(self) -> None:
        about = {**os.environ, "PYTHONPATH": published_library()}
        about["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # as a kernel sets it
        self.process = subprocess.Popen(
            [sys.executable, str(TESTS / "nursery.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=about,
            cwd=tempfile.gettempdir(),
            text=True,
        )
        atexit.register(self.process.communicate)

    def fork(self, connection: str, folder: Path) -> int:
        """A kernel with this connection file, in this folder: its process id."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps([connection, str(folder)]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@functools.cache
def nursery() -> Nursery:
    """One for all pages of this process."""
    return Nursery()


@functools.cache
def published_library() -> str:
    """A folder with what is in costlib's wheel, which is all that a reader's machine gets."""
    from tools.site.extras import build_wheel

    folder = Path(tempfile.mkdtemp(prefix="wheel-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with zipfile.ZipFile(build_wheel(ROOT, folder)) as wheel:
        wheel.extractall(folder)
    return str(folder)
