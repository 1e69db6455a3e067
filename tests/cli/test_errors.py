"""Missing packages."""

import sys

import pytest

from csf.cli.errors import CliError, require


def test_a_missing_package_is_named_with_the_way_to_get_it(monkeypatch):
    for name in ("skops", "skops.io"):  # whoever came before may have imported it
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(CliError, match=r"^saving a model needs skops: pip install 'csf-search\[cli\]'$"):
        require("skops.io", "saving a model")
