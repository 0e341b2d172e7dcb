"""A question's folder on disk: how much is in it, and away with it.

What student code left there may be thousands of folders in each other, with paths longer than any
path may be and modes that shut out even their owner; nothing here recurses or builds long paths.
Used beside student code too, so that it needs nothing but Python's own library.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile

__all__ = ["held_folder", "is_over", "remove_left_over", "remove_tree", "removed"]

PREFIX = "grader-"
MOST_ENTRIES, DEEPEST = 10_000, 40  # what no answer needs


def remove_tree(top: str) -> None:
    """A folder and all in it; folders in folders are brought up one by one and emptied there."""
    try:
        folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        while names := os.listdir(folder):
            for name in names:
                _remove(name, folder)
    finally:
        os.close(folder)
    with contextlib.suppress(OSError):
        os.rmdir(top)


def _remove(name: str, folder: int) -> None:
    """A file, or a folder whose own folders move up to this one."""
    if _unlinked(name, folder):
        return
    os.chmod(name, 0o700, dir_fd=folder)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        for child in os.listdir(inner):
            if not _unlinked(child, inner):
                os.chmod(child, 0o700, dir_fd=inner)  # to move a folder is to write in it
                os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=folder)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=folder)


def _unlinked(name: str, folder: int) -> bool:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return False
    os.unlink(name, dir_fd=folder)
    return True


def is_over(top: str, limit: int) -> bool:
    """Whether a folder holds more bytes than the limit, or what no answer needs: very many files,
    folders without end, folders that shut out their owner."""
    used, entries, folders = 0, 0, [(top, 0)]
    while folders:
        place, depth = folders.pop()
        try:
            with os.scandir(place) as inside:
                for entry in inside:
                    entries += 1
                    used += entry.stat(follow_symlinks=False).st_blocks * 512
                    if used > limit or entries > MOST_ENTRIES or depth > DEEPEST:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        folders.append((entry.path, depth + 1))
        except FileNotFoundError:  # it is being removed
            continue
        except OSError:
            return True
    return False


def removed(process: int, top: str, largest: int) -> int:
    """The bytes of files of a folder that are removed, and that a process still has: open ones
    as they are, and those that are only mapped as the largest that a file may be."""
    sizes: dict[tuple[int, int], int] = {}
    with contextlib.suppress(OSError):  # it has ended
        for name in os.listdir(f"/proc/{process}/fd"):
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{process}/fd/{name}")
                if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                    sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as maps:
            for line in maps:
                _, _, _, device, number, *place = line.split(None, 5)
                if place and place[0].startswith(top) and place[0].endswith(" (deleted)\n"):
                    major, minor = (int(part, 16) for part in device.split(":"))
                    sizes.setdefault((os.makedev(major, minor), int(number)), largest)
    return sum(sizes.values())


def held_folder() -> tuple[str, int]:
    """A new private folder, and a lock on it that ends with this process, however it ends."""
    import fcntl

    remove_left_over()
    folder = tempfile.mkdtemp(prefix=PREFIX)
    os.chmod(folder, 0o700)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def remove_left_over() -> None:
    """Remove the folders of graders that were killed: those on which nobody has a lock."""
    import fcntl

    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as inside:
        found = [entry.path for entry in inside if entry.name.startswith(PREFIX)]
        for path in found:
            with contextlib.suppress(OSError):
                lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove_tree(path)
                finally:
                    os.close(lock)
