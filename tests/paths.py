"""Where things are: a test says `from paths import ROOT`, in whichever folder it lies."""

import os
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
DATA = TESTS / "data"
#: The site that tests look at; `make book-next` names another one.
SITE = Path(os.environ.get("SITE") or ROOT / "_build" / "html")
