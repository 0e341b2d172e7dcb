"""Inside the sandbox: waits with NumPy imported, and forks once for each question.

This process never reads what students wrote. It gets a socket from the grader, forks, and the
child reads the student's code from that socket, so that nothing of one student is in the memory of
the next. It holds no answers, no hidden cases and no keys: the child asks for one case at a time.

In a bubblewrap sandbox each child is process 1 of a process namespace of its own, with its own
/tmp: when it is killed the kernel kills whatever it started. Everywhere it may start no process,
open no socket and is held by limits of time, memory and file size.
"""

import contextlib
import ctypes
import gc
import importlib.util
import json
import os
import platform
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile

libc = ctypes.PyDLL(None, use_errno=True)

NEW_NAMESPACES = 0x00020000 | 0x08000000 | 0x20000000  # mount, IPC, PID
CLONE = {"x86_64": 56, "aarch64": 220}
NO_SUID_DEV = 6
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
PR_SET_CHILD_SUBREAPER = 36


def serve(options):
    """Fork for each socket that the grader sends; say how each child ended."""
    control = socket.socket(fileno=options["control"])
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    libc.prctl(PR_SET_DUMPABLE, 0)  # not to be traced, even by its own user
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1)
    sys.path[:0] = options["path"]
    for name in options["preload"]:
        with contextlib.suppress(Exception):  # what is missing shows when the canary needs it
            importlib.import_module(name)
    load_dependencies(options["dependencies"])
    gc.collect()
    gc.freeze()
    control.sendall(b"ready")
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            return
        folder = options["folder"] if options["namespaces"] else own_folder(options)
        child = fork(options)
        if child == 0:
            control.close()
            os.environ["HOME"] = os.environ["TMPDIR"] = options["folder"] = folder
            become_a_question(socket.socket(fileno=descriptors[0]), options)
            os._exit(0)
        os.close(descriptors[0])
        control.recv(1)  # the grader is done with it, or is gone
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not options["namespaces"]:
            end_all_children()
            shutil.rmtree(folder, ignore_errors=True)
        control.sendall(struct.pack("i", status))


def load_dependencies(path):
    """The helper that finds which cells an answer needs; it lies beside, wherever that is."""
    global dependencies
    spec = importlib.util.spec_from_file_location("grader_dependencies", path)
    dependencies = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dependencies)


def fork(options):
    """Like os.fork, into new namespaces where the sandbox lets us."""
    if not options["namespaces"]:
        return os.fork()
    ctypes.pythonapi.PyOS_BeforeFork()
    child = libc.syscall(CLONE[platform.machine()], NEW_NAMESPACES | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    if child < 0:
        raise OSError(ctypes.get_errno(), "clone")
    return child


def own_folder(options):
    """Without namespaces: a folder that the next question cannot open."""
    folder = tempfile.mkdtemp(dir=options["folder"])
    if options["user"]:
        os.chown(folder, options["user"], options["user"])
    return folder


def end_all_children():
    """Without namespaces: end what a question left, which the kernel hands to this process."""
    while True:
        left = []
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/children") as file:
                left += [int(pid) for pid in file.read().split()]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def become_a_question(channel, options):
    """Shut all doors, then run the student's code and answer the grader's cases."""
    os.setsid()
    os.chdir("/")
    if options["namespaces"]:
        for place in (options["folder"].encode(), b"/dev/shm"):
            if libc.mount(b"tmpfs", place, b"tmpfs", NO_SUID_DEV, b"mode=1777,size=64m"):
                raise OSError(ctypes.get_errno(), "mount")
    os.chdir(options["folder"])
    log = os.open(f"{options['folder']}/output-{os.getpid()}", os.O_RDWR | os.O_CREAT, 0o600)
    for descriptor, source in ((0, os.open("/dev/null", os.O_RDONLY)), (1, log), (2, log)):
        os.dup2(source, descriptor)
    if not options["namespaces"]:
        os.unlink(f"{options['folder']}/output-{os.getpid()}")
    fd = os.dup2(channel.detach(), 3)
    os.closerange(4, 4096)
    set_limits(options)
    become_nobody(options)
    guard_files(options)
    forbid()
    answer_cases(socket.socket(fileno=fd))


def set_limits(options):
    """What one question may use."""
    for what, limit in (
        (resource.RLIMIT_AS, options["memory"]),
        (resource.RLIMIT_FSIZE, options["file_size"]),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(what, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (options["seconds"], options["seconds"] + 2))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NPROC, (options["processes"], options["processes"]))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write that is too long fails instead


def become_nobody(options):
    """Give up the administrator's identity, and every capability."""
    if options["user"]:
        os.setgroups([])
        os.setresgid(*[options["user"]] * 3)
        os.setresuid(*[options["user"]] * 3)
    header = struct.pack("Ii", 0x20080522, 0)
    libc.capset(header, bytes(24))
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0)


LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ, ALL = 0x1 | 0x4 | 0x8, 0x1FFF


def guard_files(options):
    """Landlock, where the kernel has it: read the system and Python, write the own folder only."""
    rules = libc.syscall(LANDLOCK_CREATE, struct.pack("Q", ALL), 8, 0)
    if rules < 0:
        return
    for place, access in [*((p, READ) for p in options["readable"]), (options["folder"], ALL)]:
        with contextlib.suppress(OSError):
            place_fd = os.open(place, os.O_PATH)
            libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", access, place_fd), 0)
            os.close(place_fd)
    libc.syscall(LANDLOCK_RESTRICT, rules, 0)
    os.close(rules)


#: System calls that a question never needs: processes, sockets, other processes' memory, mounts,
#: memory that no limit counts, keys that outlive it. Numbers for x86-64 and for 64-bit Arm.
FORBIDDEN = {
    "x86_64": [
        *(57, 58, 59, 322),  # fork, vfork, execve, execveat
        *(
            41,
            53,
            29,
            30,
            31,
            64,
            319,
            447,
            68,
            240,
        ),  # socket, socketpair, shm*, semget, memfd_*, msgget, mq
        *(101, 310, 311, 272, 308, 161, 165, 166, 155),  # ptrace, process_vm_*, unshare, mount ...
        *(248, 249, 250, 321, 298, 323, 425, 426, 427, 428, 429, 430, 432),  # keys, bpf, io_uring
        *(62, 200, 234, 424, 129, 297, 434, 438),  # kill and the like, pidfd_open
    ],
    "aarch64": [
        *(221, 281, 198, 199, 194, 195, 196, 190, 279, 447, 186, 180),
        *(117, 270, 271, 97, 268, 51, 40, 39, 41),
        *(217, 218, 219, 280, 241, 282, 425, 426, 427, 428, 429, 430, 432),
        *(129, 130, 131, 424, 138, 240, 434, 438),
    ],
}
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE3 = 435
THREAD = 0x00010000


def forbid():
    """A seccomp filter: forbidden calls fail with "not permitted", and so do new processes."""
    machine = platform.machine()
    if machine not in FORBIDDEN:
        return
    load, equal, at_least, every, give = 0x20, 0x15, 0x35, 0x45, 0x06
    refuse, missing, allow, kill = 0x00050001, 0x00050026, 0x7FFF0000, 0x80000000
    rules = [(load, 0, 0, 4), (equal, 1, 0, ARCHITECTURE[machine]), (give, 0, 0, kill)]
    rules += [(load, 0, 0, 0), (at_least, 0, 1, 0x40000000), (give, 0, 0, kill)]
    rules += [(equal, 0, 1, CLONE3), (give, 0, 0, missing)]  # so that threads use clone
    for number in FORBIDDEN[machine]:
        rules += [(equal, 0, 1, number), (give, 0, 0, refuse)]
    rules += [(equal, 0, 3, CLONE[machine]), (load, 0, 0, 16), (every, 1, 0, THREAD)]
    rules += [(give, 0, 0, refuse), (give, 0, 0, allow)]
    program = b"".join(struct.pack("HBBI", *rule) for rule in rules)
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


# From here on: the student's code, and what it may say.


def answer_cases(channel):
    """Run the setup and the student's cells, then call the function for each case that comes."""
    job = receive(channel)
    space = {"__name__": "__main__", "check": _ignore, "display": _ignore}
    problem = None
    given = dependencies.bound(job["setup"])
    cells = dependencies.answer_cells(job["cells"], job["name"], given)
    for label, code in [("setup", job["setup"]), *cells]:
        problem = run_cell(code, label, space) or problem
    found = job["name"] in space
    send(channel, {"nonce": job["nonce"], "found": found, "problem": problem})
    while True:
        case = receive(channel)
        reply = {"nonce": case["nonce"]}
        try:
            reply["value"] = plain(space[job["name"]](**case["arguments"]))
        except BaseException as error:
            reply["problem"] = describe(error)
        send(channel, reply)


def run_cell(code, label, space):
    """Run one cell; what went wrong. Also sys.exit ends one cell only, as it does in Jupyter."""
    try:
        exec(compile(code, label, "exec"), space)
    except BaseException as error:
        return describe(error)
    return None


def _ignore(*_, **__):
    return None


class NotPlainError(Exception):
    """The answer is no plain value."""


def plain(value, depth=0):
    """The value, if it is plain; NumPy's own numbers and arrays as Python's."""
    kind = type(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist") and kind in NUMPY:
        value = value.tolist()
        kind = type(value)
    if kind in (bool, int, float, str, type(None)):
        return value
    if depth > 20:
        raise NotPlainError("nested too deeply")
    if kind in (list, tuple):
        return [plain(item, depth + 1) for item in value]
    if kind is dict:
        if not all(type(key) in (str, int) for key in value):
            raise NotPlainError("a dict whose keys are neither text nor integers")
        return {str(key): plain(item, depth + 1) for key, item in value.items()}
    raise NotPlainError(f"{kind.__module__}.{kind.__qualname__}")


def describe(error):
    """An exception as plain text: kind, message, and the line of the student's cell."""
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("cell"):
            line = trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError):
        line = error.lineno
    try:
        message = str(error)[:300]
    except BaseException:
        message = ""
    return {"kind": type(error).__name__[:60], "message": message, "line": line}


def send(channel, message):
    """Plain JSON, its length first."""
    try:
        data = json.dumps(message, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:  # nan, infinity, or an integer without end
        problem = {"kind": "NotPlainError", "message": str(error)[:100], "line": None}
        data = json.dumps({"nonce": message["nonce"], "problem": problem}).encode()
    channel.sendall(struct.pack(">I", len(data)) + data)


def receive(channel):
    """The next message of the grader."""
    length = struct.unpack(">I", exactly(channel, 4))[0]
    return json.loads(exactly(channel, length))


def exactly(channel, length):
    """That many bytes, or the end of this process."""
    data = b""
    while len(data) < length:
        chunk = channel.recv(min(length - len(data), 1 << 16))
        if not chunk:
            os._exit(0)
        data += chunk
    return data


NUMPY = ()

if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    serve_options = chosen
    if "numpy" in chosen["preload"]:
        sys.path[:0] = chosen["path"]
        import numpy

        NUMPY = (numpy.ndarray, *{numpy.dtype(code).type for code in "?bhilqBHILQefd"})
    serve(chosen)
