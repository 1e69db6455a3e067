import pytest
from command_builders import customers, error_of, ok, one_thread, run  # noqa: F401  # fixtures

from csf.cli import main


@pytest.fixture
def command():
    """What the fixtures run."""
    return main


@pytest.fixture
def table(customers, tmp_path):  # noqa: F811
    """The customers as a CSV file."""
    path = tmp_path / "customers.csv"
    customers.to_csv(path, index=False)
    return path
