"""Make the environment in .venv from requirements.lock. Standard library only, and syntax that
any Python understands, so that an old one can be told.

pip installs uv as it is locked, and uv the rest: it takes a tenth of the processor's time, since it
links files from its cache and compiles none.

Run by make before anything else, so it returns at once when there is nothing to do, and says in one
line what is wrong when it cannot go on.
"""

from __future__ import print_function

import hashlib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
READY = os.path.join(VENV, "ready")
LOG = os.path.join(VENV, "install.log")
OLDEST = (3, 10)


def stop(line):
    sys.exit("error: " + line)


def wanted():
    """What the environment depends on, a line each: this place, this Python and the locked
    packages; and costlib's own metadata (the first part of pyproject.toml, and its version)."""
    packages = hashlib.sha256((ROOT + sys.version).encode())
    with open(os.path.join(ROOT, "requirements.lock"), "rb") as file:
        packages.update(file.read())
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        own = hashlib.sha256(file.read().split(b"[tool.")[0])
    with open(os.path.join(ROOT, "costlib", "__init__.py"), "rb") as file:
        own.update(file.read().partition(b"__version__ = ")[2].splitlines()[0])
    return [packages.hexdigest(), own.hexdigest()]


def there():
    """What it was made for, in the same lines."""
    if not os.path.exists(READY):
        return []
    with open(READY) as file:
        return file.read().split()


def python():
    windows = os.path.join(VENV, "Scripts", "python.exe")
    return windows if os.path.exists(windows) else os.path.join(VENV, "bin", "python")


def create():
    print("Creating the environment in .venv ...")
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", VENV], capture_output=True, text=True
    )
    if made.returncode:
        stop(
            "this Python cannot create environments; on Debian or Ubuntu: apt install python3-venv"
            if "ensurepip" in made.stdout + made.stderr
            else "creating .venv failed: " + (made.stderr.strip().splitlines() or ["?"])[-1]
        )


def run(command, said):
    """Run a command, show the lines that begin like this, keep all it says in a log; whether it
    went well, and its lines."""
    with open(LOG, "a") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        lines = []
        for line in process.stdout:
            log.write(line)
            lines.append(line.strip())
            if line.startswith(said):
                print("  " + lines[-1])
                sys.stdout.flush()
    return process.wait() == 0, lines


def pip(*arguments):
    """Install with pip, or say why not."""
    command = [python(), "-m", "pip", "install", "--disable-pip-version-check", "--retries", "2"]
    went_well, lines = run(command + list(arguments), ())
    if not went_well:
        explain(lines)


def uv(*arguments):
    """Install with uv, in a tenth of pip's time; whether it could."""
    command = [python(), "-m", "uv", "pip", "install", "--python", python()]
    return run(command + list(arguments), ("Resolved", "Prepared", "Installed"))[0]


def explain(lines):
    text = "\n".join(lines)
    if re.search("NewConnectionError|NameResolution|Max retries|ConnectTimeout|ProxyError", text):
        stop("the package index (PyPI) cannot be reached: check the network and run this again")
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    stop("installing failed: {} (all of it: .venv/install.log)".format(errors[-1]))


def install():
    print("Installing the pinned packages, a minute or two the first time ...")
    sys.stdout.flush()
    lock, first = os.path.join(ROOT, "requirements.lock"), os.path.join(VENV, "uv.txt")
    with open(lock) as locked, open(first, "w") as file:
        file.write(re.search(r"^uv==(?:.*\\\n)*.*\n", locked.read(), re.MULTILINE).group())
    as_locked = ("--require-hashes", "--only-binary", ":all:")
    pip("-r", first, *as_locked)
    if not uv("-r", lock, *as_locked):
        pip("-r", lock, *as_locked)  # it knows mirrors and certificates that uv was not told of


def install_costlib():
    # The lock holds the build backend, so nothing more is fetched here.
    own = ("--no-deps", "--no-build-isolation", "--editable", ROOT)
    if not uv("--offline", *own):
        pip("--no-index", *own)
    with open(READY, "w") as file:
        file.write("\n".join(wanted()))


def list_targets(makefile):
    with open(os.path.join(ROOT, makefile)) as file:
        for target, what in re.findall(r"^([a-z-]+):.*?## (.*)$", file.read(), re.MULTILINE):
            print("  make {:<15} {}".format(target, what))


def offer():
    """Say, to whoever asks for the environment by its name, what looks at commits; nothing is
    switched on."""
    if not os.path.exists(os.path.join(ROOT, ".git")):
        return
    git = ["git", "-C", ROOT, "config", "core.hooksPath"]
    if subprocess.run(git, stdout=subprocess.DEVNULL).returncode:
        print("To have commit titles looked at as you commit: git config core.hooksPath .ci")


def main():
    if "--help-from" in sys.argv:
        return list_targets(sys.argv[-1])
    if "--where" in sys.argv:
        path = os.path.join(ROOT, "_build", "html", "index.html")
        return print("The site is in _build/html; open file://" + path.replace(" ", "%20"))
    if sys.version_info < OLDEST:
        stop(
            "Python {}.{} or newer is needed, this is {}.{}; "
            "name another with make PYTHON=...".format(*(OLDEST + tuple(sys.version_info)))
        )
    if os.path.islink(VENV):
        return None  # another checkout's environment: used as it is, never cleared from here
    if there()[:1] != wanted()[:1]:
        create()
        install()
    if there() != wanted():
        install_costlib()
    if "--offer" in sys.argv:
        offer()
    return None


if __name__ == "__main__":
    main()
