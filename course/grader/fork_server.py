"""Inside the sandbox: waits with NumPy imported, and forks once for each question.

This process never reads what students wrote. It gets a socket from the grader, forks, and the
child reads the student's code from that socket, so that nothing of one student is in the memory of
the next. It holds no answers, no hidden cases and no keys: the child asks for one case at a time.

In a bubblewrap sandbox each child is process 1 of a process namespace of its own, with its own
/tmp: when it is killed the kernel kills whatever it started. Everywhere it may start no process,
open no socket and is held by limits of time, memory and file size.
"""

import ast
import contextlib
import ctypes
import gc
import importlib.util
import inspect
import json
import os
import platform
import re
import resource
import select
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
DISK_FULL = 1 << 20  # in the place of how a process ended


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
    load_helpers(options)
    options["filter"] = seccomp_program(options)
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
        over = wait_for_the_grader(control, child, folder, options)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not options["namespaces"]:
            end_all_children()
            with contextlib.suppress(OSError):
                folders.remove_tree(folder)
        control.sendall(struct.pack("i", DISK_FULL if over else status))


def wait_for_the_grader(control, child, folder, options):
    """Until it is done with the question, or is gone; whether the question filled the disk.

    In namespaces the kernel limits the folder's size.
    """
    over = False
    while not select.select([control], [], [], None if options["namespaces"] or over else 0.1)[0]:
        over = folders.is_over(folder, options["disk"]) or holds_more(child, folder, options)
        if over:
            os.kill(child, signal.SIGKILL)
    control.recv(1)
    return over


def holds_more(child, folder, options):
    """Without namespaces: whether a question holds more than the disk limit in files that it has
    removed. Seen as the question's own user, whom the kernel shows what is open."""
    libc.setfsgid(options["user"]), libc.setfsuid(options["user"])
    try:
        return folders.removed(child, folder, options["file_size"]) > options["disk"]
    finally:
        libc.setfsuid(os.geteuid()), libc.setfsgid(os.getegid())


def load_helpers(options):
    """Which cells an answer needs, and how a folder is emptied; they lie elsewhere in a sandbox."""
    global dependencies, folders
    loaded = []
    for name in ("dependencies", "folders"):
        spec = importlib.util.spec_from_file_location(f"grader_{name}", options[name])
        loaded.append(importlib.util.module_from_spec(spec))
        spec.loader.exec_module(loaded[-1])
    dependencies, folders = loaded


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
    forbid(options)
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
    # the server must see which files it holds; other questions may neither trace nor read /proc
    libc.prctl(PR_SET_DUMPABLE, 0 if options["namespaces"] else 1)


LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ = 0x1 | 0x4 | 0x8
NO_NETWORK = 0x3  # bind, connect
OWN_SCOPE = 0x3  # no abstract socket and no signal leads out
VERSION = 1  # of Landlock, asked for in the place of rules


def guard_files(options):
    """Landlock, where the kernel has it: read the system and Python, write the own folder only.

    Newer kernels guard more: moves between folders, truncation, devices; sockets; signals.
    """
    version = libc.syscall(LANDLOCK_CREATE, None, 0, VERSION)
    if version < 1:
        return
    everything = 0x1FFF | sum(
        1 << bit for bit, since in ((13, 2), (14, 3), (15, 5)) if version >= since
    )
    guarded = struct.pack("QQQ", everything, NO_NETWORK, OWN_SCOPE)
    size = 8 if version < 4 else 16 if version < 6 else 24
    rules = libc.syscall(LANDLOCK_CREATE, guarded, size, 0)
    if rules < 0:
        raise OSError(ctypes.get_errno(), "landlock")
    for place, access in [
        *((p, READ) for p in options["readable"]),
        (options["folder"], everything),
    ]:
        with contextlib.suppress(OSError):
            place_fd = os.open(place, os.O_PATH)
            libc.syscall(LANDLOCK_ADD, rules, 1, struct.pack("=Qi", access, place_fd), 0)
            os.close(place_fd)
    if libc.syscall(LANDLOCK_RESTRICT, rules, 0):
        raise OSError(ctypes.get_errno(), "landlock")
    os.close(rules)


#: System calls that a question never needs, by what they would reach: names, and numbers on x86-64
#: and on 64-bit Arm, which lacks some of the older ones.
FORBIDDEN = """
new programs: fork 57 -, vfork 58 -, execve 59 221, execveat 322 281

sockets, and memory that no limit counts: socket 41 198, socketpair 53 199, shmget 29 194,
shmat 30 196, shmctl 31 195, semget 64 190, memfd_create 319 279, memfd_secret 447 447,
msgget 68 186, mq_open 240 180

other processes: ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kill 62 129,
tkill 200 130, tgkill 234 131, kcmp 312 272, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240,
pidfd_send_signal 424 424, pidfd_open 434 434, pidfd_getfd 438 438, setpriority 141 140,
ioprio_set 251 30, sched_setaffinity 203 122, sched_setparam 142 118, sched_setscheduler 144 119,
sched_setattr 314 274, migrate_pages 256 238, move_pages 279 239, process_madvise 440 440,
process_mrelease 448 448

the system: unshare 272 97, setns 308 268, chroot 161 51, mount 165 40, umount2 166 39,
pivot_root 155 41, open_tree 428 428, move_mount 429 429, fsopen 430 430, fsmount 432 432,
mount_setattr 442 442, add_key 248 217, request_key 249 218, keyctl 250 219, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426,
io_uring_register 427 427, fanotify_init 300 262, name_to_handle_at 303 264,
open_by_handle_at 304 265
"""
#: What Landlock does not guard, or older kernels' does not: other people's files of the same user.
#: In namespaces there are none, and answers may do this with their own.
OUTSIDE_NAMESPACES = """
files: truncate 76 45, chmod 90 -, fchmod 91 52, fchmodat 268 53, fchmodat2 452 452, chown 92 -,
lchown 94 -, fchown 93 55, fchownat 260 54, utime 132 -, utimes 235 -, futimesat 261 -,
utimensat 280 88, setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14,
lremovexattr 198 15, fremovexattr 199 16, setxattrat 463 463, removexattrat 466 466,
file_setattr 469 469

what happens in other folders: inotify_init 253 -, inotify_init1 294 26, inotify_add_watch 254 27
"""
#: Calls that are harmless but for some values of an argument: call, which argument, values.
#: They make the kernel send signals to others, wait for leases, or type into a terminal.
F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY = 8, 10, 15, 1024, 1026
FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI = 0x8901, 0x8902, 0x5452, 0x5412
FORBIDDEN_VALUES = [
    ((72, 25), 1, (F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_NOTIFY)),  # fcntl
    ((16, 29), 1, (FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI)),  # ioctl
]
PRLIMIT = 302, 261  # of itself (0) only
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CLONE3 = 435
THREAD = 0x00010000
LOAD, EQUAL, AT_LEAST, EVERY, GIVE = 0x20, 0x15, 0x35, 0x45, 0x06
REFUSE, MISSING, ALLOW, KILL = 0x00050001, 0x00050026, 0x7FFF0000, 0x80000000
CALL = (LOAD, 0, 0, 0)


def forbid(options):
    """A seccomp filter: forbidden calls fail with "not permitted", and so do new processes."""
    if platform.machine() not in ARCHITECTURE:
        return
    program = options["filter"]
    buffer = ctypes.create_string_buffer(program)
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    if libc.prctl(PR_SET_SECCOMP, 2, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def seccomp_program(options):
    """The filter as the kernel reads it, made once; nothing where no numbers are known."""
    machine = platform.machine()
    rules = seccomp_rules(machine, options["namespaces"]) if machine in ARCHITECTURE else []
    return b"".join(struct.pack("HBBI", *rule) for rule in rules)


def seccomp_rules(machine, namespaces):
    """The filter's program: a kind of step, how far it jumps if it holds and if not, a value."""
    which = list(ARCHITECTURE).index(machine)
    calls = FORBIDDEN + ("" if namespaces else OUTSIDE_NAMESPACES)
    rules = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, ARCHITECTURE[machine]), (GIVE, 0, 0, KILL)]
    rules += [CALL, (AT_LEAST, 0, 1, 0x40000000), (GIVE, 0, 0, KILL)]
    rules += [(EQUAL, 0, 1, CLONE3), (GIVE, 0, 0, MISSING)]  # so that threads use clone
    for numbers in re.findall(r"\w+ (\d+) (\d+|-)", calls):
        if numbers[which] != "-":
            rules += [(EQUAL, 0, 1, int(numbers[which])), (GIVE, 0, 0, REFUSE)]
    for numbers, argument, values in FORBIDDEN_VALUES:
        steps = [step for v in values for step in ((EQUAL, 0, 1, v), (GIVE, 0, 0, REFUSE))]
        rules += [(EQUAL, 0, len(steps) + 2, numbers[which]), (LOAD, 0, 0, 16 + 8 * argument)]
        rules += [*steps, CALL]
    rules += [(EQUAL, 0, 4, PRLIMIT[which]), (LOAD, 0, 0, 16), (EQUAL, 1, 0, 0)]
    rules += [(GIVE, 0, 0, REFUSE), CALL]
    rules += [(EQUAL, 0, 3, CLONE[machine]), (LOAD, 0, 0, 16), (EVERY, 1, 0, THREAD)]
    return [*rules, (GIVE, 0, 0, REFUSE), (GIVE, 0, 0, ALLOW)]


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
        ready = compile(code, label, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if ready.co_flags & inspect.CO_COROUTINE:
            awaited(eval(ready, space))
        else:
            exec(ready, space)
    except BaseException as error:
        return describe(error)
    return None


def awaited(waiting):
    """What a cell awaits at its top level, as in Jupyter, by a loop that needs no socket."""
    import asyncio

    class Loop(asyncio.SelectorEventLoop):
        def _make_self_pipe(self):
            self._ssock = self._csock = None

        _close_self_pipe = _make_self_pipe

    loop = Loop()
    try:
        loop.run_until_complete(waiting)
    finally:
        loop.close()


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
    try:
        message = str(error)[:300]
        if isinstance(error, SyntaxError) and str(error.filename).startswith("cell"):
            message, line = f"{error.msg} in {error.filename}"[:300], error.lineno
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
