"""Where student code runs, seen from the grader: one question at a time, plain values back."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import os
import platform
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from course.grader.folders import held_folder, remove_tree

__all__ = [
    "Failure",
    "Limits",
    "RunningQuestion",
    "Sandbox",
    "bubblewrap_works",
    "landlock_works",
    "plain_value",
    "unguarded",
]

SERVER = Path(__file__).with_name("fork_server.py")
FOLDERS = Path(__file__).with_name("folders.py")
DEPENDENCIES = Path(__file__).parent.parent / "builder" / "dependencies.py"
SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
LONGEST = 1_000_000  # bytes of one answer
DISK_FULL = 1 << 20  # what the server says in the place of how a process ended
ARCHITECTURE = ("x86_64", "aarch64")  # that have a filter of system calls
FIRST_USER = 61_000  # an administrator's grader runs student code as these users


@dataclass(frozen=True)
class Limits:
    """Seconds for the cells and for each call, for a question, for a submission; bytes."""

    call: float = 5.0
    question: float = 15.0
    submission: float = 120.0
    memory: int = 2 << 30
    file_size: int = 16 << 20
    disk: int = 64 << 20


class Failure(Exception):
    """Why there is no answer: ``kind`` in a word or two, ``detail`` as the student said it."""

    def __init__(self, kind: str, detail: str = "", line: int | None = None) -> None:
        super().__init__(kind, detail, line)
        self.kind, self.detail, self.line = kind, detail, line
        self.early = False  # before the function was called


def plain_value(value: Any, depth: int = 0) -> Any:
    """A value from JSON text, or a Failure: nothing but exact plain types and finite numbers.

    >>> plain_value([1, 2.5, {"a": True}])
    [1, 2.5, {'a': True}]
    """
    if type(value) is float and not math.isfinite(value):
        raise Failure("not a plain value", "nan or infinity")
    if value is None:
        raise Failure("nothing returned")
    if type(value) in (bool, int, float, str):
        return value
    if depth < 22 and type(value) is list:
        return [plain_value(item, depth + 1) for item in value]
    if depth < 22 and type(value) is dict:
        return {str(key): plain_value(item, depth + 1) for key, item in value.items()}
    raise Failure("not a plain value")


class Sandbox:
    """A warm process that forks for each question; restarted when it is lost."""

    def __init__(
        self, preload: Sequence[str], *, bubblewrap: bool, limits: Limits | None = None
    ) -> None:
        self.limits = limits or Limits()
        self.bubblewrap = bubblewrap
        self.preload = list(preload)
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._folder: tuple[str, int] | None = None  # and its lock

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and what it started."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.5)
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            with contextlib.suppress(OSError):
                remove_tree(self._folder[0])
            os.close(self._folder[1])
            self._folder = None

    def question(self, setup: str, cells: Sequence[tuple[str, str]], name: str) -> RunningQuestion:
        """Start a question; use it in a with statement."""
        for attempt in (1, 2):
            control = self._control or self._start()
            mine, its = socket.socketpair()
            try:
                socket.send_fds(control, [b"q"], [its.fileno()])
                its.close()
                break
            except OSError:
                mine.close()
                its.close()
                self.close()
                if attempt == 2:
                    raise
        job = {"setup": setup, "cells": list(cells), "name": name}
        return RunningQuestion(self, mine, job)

    def finish(self) -> int | None:
        """End the question that runs; how its process ended, None if the server is lost too."""
        if self._control is None:
            return None
        with contextlib.suppress(OSError):
            self._control.sendall(b"k")
            self._control.settimeout(30)
            status = self._control.recv(4)
            if len(status) == 4:
                return int(struct.unpack("i", status)[0])
        self.close()
        return None

    def _start(self) -> socket.socket:
        mine, its = socket.socketpair()
        root = os.getuid() == 0 and (self.bubblewrap or _open_to_all())
        user = FIRST_USER + os.getpid() % 1000 if root else 0
        folder = _private()
        if not self.bubblewrap:
            self._folder = held_folder()
            folder = self._folder[0]
            if root:
                os.chown(folder, user, user)
        options = {
            "control": its.fileno(),
            "path": [str(Path(_costlib()).parent)],
            "preload": ["numpy", *self.preload],
            "namespaces": self.bubblewrap,
            "folder": folder,
            "dependencies": "/dependencies.py" if self.bubblewrap else str(DEPENDENCIES),
            "folders": "/folders.py" if self.bubblewrap else str(FOLDERS),
            "disk": self.limits.disk,
            "readable": _readable(),
            "seconds": math.ceil(self.limits.question),
            "memory": self.limits.memory,
            "file_size": self.limits.file_size,
            "processes": 32 + (0 if self.bubblewrap else _tasks(user or os.getuid())),
            "user": user,
        }
        command = [*(_bubblewrap() if self.bubblewrap else []), sys.executable, "-I"]
        script = "/fork_server.py" if self.bubblewrap else str(SERVER)
        self._process = subprocess.Popen(
            [*command, script, json.dumps(options)],
            pass_fds=[its.fileno()],
            env=_environment(folder),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        its.close()
        self._control = _ready(mine)
        return mine


def _ready(control: socket.socket) -> socket.socket:
    """The fork server's channel, once it says that it is there."""
    control.settimeout(60)
    if control.recv(5) != b"ready":
        raise OSError("the sandbox does not start")
    return control


class RunningQuestion:
    """One student's code for one question, running; ``ask`` it case by case."""

    def __init__(self, sandbox: Sandbox, channel: socket.socket, job: dict[str, Any]) -> None:
        self._sandbox, self._channel, self._job = sandbox, channel, job
        self._deadline = time.monotonic() + sandbox.limits.question

    def __enter__(self) -> RunningQuestion:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._channel.close()
        status = self._sandbox.finish()
        if isinstance(error, Failure) and error.kind.startswith("ended"):  # or in a hidden case
            error.kind = error.kind.replace("ended", _ending(status), 1)

    def start(self) -> tuple[bool, Failure | None]:
        """Run the cells; whether the function is there, and what went wrong on the way."""
        reply = self._exchange(self._job)
        problem = reply.get("problem")
        return reply.get("found") is True, _failure(problem) if problem else None

    def ask(self, arguments: dict[str, Any]) -> Any:
        """The function's answer for one case, a plain value; Failure if there is none."""
        reply = self._exchange({"arguments": arguments})
        if reply.get("problem"):
            raise _failure(reply["problem"])
        return plain_value(reply.get("value"))

    def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        nonce = secrets.token_hex(8)
        data = json.dumps({**message, "nonce": nonce}).encode()
        end = min(time.monotonic() + self._sandbox.limits.call, self._deadline)
        try:
            self._channel.settimeout(max(end - time.monotonic(), 0.001))
            self._channel.sendall(struct.pack(">I", len(data)) + data)
            length = struct.unpack(">I", self._read(4, end))[0]
            if length > LONGEST:
                raise Failure("forged answer", "longer than any answer is")
            reply = json.loads(self._read(length, end))
        except TimeoutError:
            raise Failure("time-out") from None
        except OSError:
            raise Failure("ended") from None
        except (ValueError, RecursionError):
            raise Failure("forged answer", "not JSON") from None
        if type(reply) is not dict or reply.get("nonce") != nonce:
            raise Failure("forged answer", "something else came through the answer's channel")
        return reply

    def _read(self, length: int, end: float) -> bytes:
        data = b""
        while len(data) < length:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._channel], [], [], left)[0]:
                raise TimeoutError
            chunk = self._channel.recv(min(length - len(data), 1 << 16))
            if not chunk:
                raise Failure("ended")
            data += chunk
        return data


def _failure(problem: Any) -> Failure:
    """What the child says went wrong. It may lie; it can only choose among harmless words."""
    problem = problem if isinstance(problem, dict) else {}
    kind, message = str(problem.get("kind") or "")[:60], str(problem.get("message", ""))[:300]
    if not kind.strip():
        return Failure("forged answer", "a problem without a name")
    line = problem.get("line") if type(problem.get("line")) is int else None
    known = {
        "NotPlainError": "not a plain value",
        "MemoryError": "out of memory",
        "SystemExit": "called exit",
    }
    if kind == "OSError" and "File too large" in message:
        return Failure("file limit", line=line)
    if kind in ("PermissionError", "BlockingIOError"):
        return Failure("not permitted", message, line)
    if kind in known:
        return Failure(known[kind], message, line)
    return Failure("exception", f"{kind}: {message}" if message else kind, line)


def _ending(status: int | None) -> str:
    """How a process ended before it answered."""
    if status is None:
        return "crashed"
    if status == DISK_FULL:
        return "file limit"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGXCPU:
            return "time-out"
        if number != signal.SIGKILL:
            return f"crashed ({signal.Signals(number).name})"
        return "ended without an answer"
    return f"ended the process (code {os.WEXITSTATUS(status)})"


@functools.lru_cache(maxsize=1)
def bubblewrap_works() -> bool:
    """True if bubblewrap is here and may make namespaces, and Python runs in it."""
    if sys.platform != "linux" or not shutil.which("bwrap"):
        return False
    command = [*_bubblewrap(), sys.executable, "-I", "-c", "print('works')"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=30, env=_environment("/tmp"))
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.stdout.strip() == b"works"


def _bubblewrap() -> list[str]:
    """A read-only system, Python and costlib; no home, no network, no /proc, nothing else."""
    command = ["bwrap", "--die-with-parent", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox"]
    command += ["--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN"]  # for the namespaces of a child
    if os.getuid() == 0:
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        command += ["--cap-add", "CAP_KILL"]
    else:
        command += ["--unshare-user"]
    for place in SYSTEM:
        if os.path.islink(place):
            command += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            command += ["--ro-bind", place, place]
    places = dict.fromkeys([sys.base_prefix, sys.prefix, _costlib()])
    for place in [place for place in places if not place.startswith("/usr")]:
        for parent in reversed(Path(place).parents):
            command += ["--dir", str(parent)]  # so that anybody may pass through
        command += ["--ro-bind", place, place]
    for device in ("/dev/null", "/dev/zero", "/dev/urandom"):
        command += ["--dev-bind", device, device]
    command += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    command += ["--ro-bind", str(SERVER), "/fork_server.py"]
    command += ["--ro-bind", str(DEPENDENCIES), "/dependencies.py"]
    command += ["--ro-bind", str(FOLDERS), "/folders.py"]
    return [*command, "--dir", _private(), "--dir", "/dev/shm", "--remount-ro", "/"]


def _private() -> str:
    """Where each question gets an empty folder of its own; /tmp, unless Python itself lies there,
    as it does in a trial checkout: then that would hide it."""
    places = (sys.base_prefix, sys.prefix, _costlib())
    return "/scratch" if any(Path("/tmp") in Path(place).parents for place in places) else "/tmp"


def _costlib() -> str:
    import costlib

    return str(Path(costlib.__file__).resolve().parent)


def _readable() -> list[str]:
    """All that student code may read."""
    devices = ("/dev/null", "/dev/zero", "/dev/urandom")
    return [*SYSTEM, *devices, sys.base_prefix, sys.prefix, _costlib(), "/etc/ld.so.cache"]


def _open_to_all() -> bool:
    """True if another user could run this Python: not where it lies in somebody's home."""
    places = [Path(p).resolve() for p in (sys.base_prefix, sys.prefix, _costlib())]
    return all(p.stat().st_mode & 1 for place in places for p in (place, *place.parents))


def _environment(folder: str) -> dict[str, str]:
    """Nothing of the grader's own environment."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": folder,
        "TMPDIR": folder,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        **threads,
    }


def landlock_works() -> bool:
    """True if the kernel lets a process shut itself off from files."""
    return sys.platform == "linux" and bool(ctypes.CDLL(None).syscall(444, None, 0, 1) > 0)


def unguarded() -> str:
    """What is missing so that student code without bubblewrap reaches nobody's files; or nothing.

    Another user's files it does not reach; its own user's are guarded by Landlock and a filter.
    """
    if os.getuid() == 0 and _open_to_all():
        return ""
    if not landlock_works():
        return "this kernel has no Landlock"
    if platform.machine() not in ARCHITECTURE:
        return f"there is no filter of system calls for {platform.machine()}"
    return ""


def _tasks(user: int) -> int:
    """How many processes and threads a user has: what the process limit counts from."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if entry.stat().st_uid == user:
                count += len(list((entry / "task").iterdir()))
    return count
