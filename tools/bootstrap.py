"""Make the environment in .venv from requirements.lock. Standard library only, and syntax that
any Python understands, so that an old one can be told.

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
    packages; and costlib's own metadata (the first part of pyproject.toml)."""
    packages = hashlib.sha256((ROOT + sys.version).encode())
    with open(os.path.join(ROOT, "requirements.lock"), "rb") as file:
        packages.update(file.read())
    with open(os.path.join(ROOT, "pyproject.toml"), "rb") as file:
        own = hashlib.sha256(file.read().split(b"[tool.")[0])
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


def pip(*arguments):
    """Run pip, show that it moves, keep everything it says in a log."""
    command = [python(), "-m", "pip", "install", "--disable-pip-version-check", "--retries", "2"]
    with open(LOG, "a") as log:
        process = subprocess.Popen(
            command + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        collected, lines = 0, []
        for line in process.stdout:
            log.write(line)
            lines.append(line.strip())
            collected += line.startswith("Collecting ")
            if line.startswith("Collecting ") and collected % 25 == 0:
                print("  {} packages ...".format(collected))
                sys.stdout.flush()
    if process.wait():
        explain(lines)


def explain(lines):
    text = "\n".join(lines)
    if re.search("NewConnectionError|NameResolution|Max retries|ConnectTimeout|ProxyError", text):
        stop("the package index (PyPI) cannot be reached: check the network and run this again")
    errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
    stop("installing failed: {} (all of it: .venv/install.log)".format(errors[-1]))


def install():
    print("Installing the pinned packages, a minute or two the first time ...")
    sys.stdout.flush()
    pip("--require-hashes", "--only-binary", ":all:", "-r", os.path.join(ROOT, "requirements.lock"))


def install_costlib():
    # The lock holds the build backend, so nothing more is fetched here.
    pip("--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)
    with open(READY, "w") as file:
        file.write("\n".join(wanted()))


def list_targets(makefile):
    with open(os.path.join(ROOT, makefile)) as file:
        for target, what in re.findall(r"^([a-z-]+):.*?## (.*)$", file.read(), re.MULTILINE):
            print("  make {:<15} {}".format(target, what))


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
    return None


if __name__ == "__main__":
    main()
