"""The measurements of alerts by batch and of labels that miss positives run and give rows."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from tests.benchmarks import batches, incomplete


@pytest.fixture
def drawn(monkeypatch):
    def load(name):
        X, y = make_classification(900, 4, weights=[0.8], class_sep=1.5, random_state=0)
        return X, y

    for module in (batches, incomplete):
        monkeypatch.setattr(module, "load", load)


def test_batches_give_rows(drawn):
    found = list(batches.rows(batches.RARE[:2], 1, 1))
    assert len(found) == 3 * len(batches.FACTORS)
    assert [row["set"] for row in found[-3:]] == ["2 sets"] * 3


def test_hidden_labels_give_rows(drawn):
    single, mean = incomplete.rows(incomplete.SETS[:1], [0.5], 1)
    assert 0.0 < float(single["true F1, share known"]) <= 100.0
    assert mean["set"] == "gain"


def test_shares_are_counted():
    measured = batches.Measured()
    measured.add(np.array([True, True, False]), np.array([True, False, True]))
    measured.add(np.array([False, False]), np.array([True, False]))
    assert measured.numbers.tolist() == [0.25, 0.5, pytest.approx(1 / 3)]
