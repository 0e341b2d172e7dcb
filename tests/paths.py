"""Where things are: a test says `from paths import ROOT`, in whichever folder it lies."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
DATA = TESTS / "data"
SITE = ROOT / "_build" / "html"
