"""The simulations behind certificates without rows held back run, and give rows."""

import pytest

from tests.benchmarks import signing


@pytest.mark.filterwarnings("ignore:no threshold certifies")
def test_tables_give_rows(monkeypatch):
    monkeypatch.setattr(signing, "GIVEN", signing.GIVEN[:1])
    monkeypatch.setattr(signing, "CROSS_FITTED", signing.CROSS_FITTED[:1])
    monkeypatch.setattr(signing, "BATCHES", signing.BATCHES[3:4])
    monkeypatch.setattr(signing, "OVERFITTING", [])
    (given,), (crossed,), (alerts,) = (
        list(table(2)) for table in (signing.given, signing.cross_fitted, signing.alerts)
    )
    assert (given["demand"], given["signed"]) == ("recall >= 0.8", "100%")
    assert (crossed["search"], crossed["signed"]) == ("logistic", "100%")
    assert (alerts["rows"], alerts["batch"]) == (300, 20)


def test_real_sets_leave_enough_rows_to_tell_the_truth():
    assert all(not each.real or each.n_rows <= 1500 for each in signing.CROSS_FITTED)
