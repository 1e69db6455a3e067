"""The package of displays as a whole."""

import subprocess
import sys

import pytest

import csf.plots


def test_import_leaves_matplotlib_alone():
    code = "import sys, csf.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", csf.plots.__all__)
def test_exports_exist(name):
    assert getattr(csf.plots, name).__doc__
