"""For every test: no deadlines, since machines are shared; in CI the same examples each run."""

import os

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from paths import ROOT

set_hypothesis_home_dir(ROOT / "_build" / "hypothesis")

settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")
