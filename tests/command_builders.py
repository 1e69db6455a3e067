"""Fixtures that run a command in this process; a room says which one by its fixture ``command``."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Threads that wait for each other on a busy machine take longer than the tests."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def run(command, capsys):
    """Run a command: exit code, standard output, standard error."""

    def run(*argv):
        code = command([str(word) for word in argv])
        streams = capsys.readouterr()
        return code, streams.out, streams.err

    return run


@pytest.fixture
def ok(run):
    """Run a command that has to succeed in silence: its standard output."""

    def ok(*argv):
        code, out, err = run(*argv)
        assert (code, err) == (0, "")
        return out

    return ok


@pytest.fixture
def error_of(run):
    """Run a command that the user has to mend: the message."""

    def error_of(*argv):
        code, out, err = run(*argv)
        assert (code, out) == (2, "")
        assert err.startswith("csf: error: ")
        assert err.count("\n") == 1
        return err.removeprefix("csf: error: ").rstrip("\n")

    return error_of


@pytest.fixture(scope="session")
def customers():
    """Frame of customers: numbers and categories with gaps, weights, a label in words."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 240
    age = rng.integers(18, 80, n).astype(float)
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    smoker = rng.choice(np.array(["yes", "no", None], dtype=object), n, p=[0.3, 0.6, 0.1])
    member = rng.random(n) < 0.4
    score = 0.05 * (age - 50) + 1.5 * (city == "Lima") + 1.5 * (smoker == "yes") + rng.normal(0, 1, n)
    outcome = np.where(score > np.quantile(score, 0.8), "churn", "stay")
    age[rng.random(n) < 0.1] = np.nan
    columns = {"age": age, "city": city, "smoker": smoker, "member": member, "weight": rng.integers(1, 4, n)}
    return pandas.DataFrame(columns | {"outcome": outcome})
