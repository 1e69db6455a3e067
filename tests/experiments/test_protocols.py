"""Splits of the protocols."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import MinMaxScaler

from notebooks.experiments.datasets import DataSet, load_set
from notebooks.experiments.protocols import PROTOCOLS


@pytest.fixture
def numbered():
    """Samples that carry their number, so that parts can be told."""
    y = np.arange(600) % 6 == 0
    return DataSet("numbered", np.column_stack([np.arange(600.0), y]), y)


class Recorder(MinMaxScaler):
    """Scaler that notes what it is fitted to."""

    seen: ClassVar = []

    def fit(self, X, y=None):
        """Note and fit."""
        self.seen.append(X)
        return super().fit(X)


def test_paper_holds_out_a_quarter_and_a_third_of_the_rest(numbered):
    split = PROTOCOLS["paper"].split(numbered, 0)
    ((train, held_out),) = split.folds
    assert (split.X_test.shape[0], held_out.size, train.size) == (150, 150, 300)
    assert split.y_test.mean() == split.y[held_out].mean() == pytest.approx(1 / 6)
    assert not set(train) & set(held_out)


def test_modern_folds_cover_the_training_part_once(numbered):
    split = PROTOCOLS["modern"].split(numbered, 0)
    held_out = np.concatenate([part for _, part in split.folds])
    assert len(split.folds) == 5
    np.testing.assert_array_equal(np.sort(held_out), np.arange(450))
    for train, part in split.folds:
        assert set(train) | set(part) == set(range(450))
        assert split.y[part].mean() == pytest.approx(1 / 6, abs=0.01)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_same_number_gives_the_same_split(numbered, name):
    first, again, other = (PROTOCOLS[name].split(numbered, number, seed=3) for number in (1, 1, 2))
    np.testing.assert_array_equal(first.X_test, again.X_test)
    np.testing.assert_array_equal(first.folds[0][1], again.folds[0][1])
    assert not np.array_equal(first.X_test, other.X_test)
    assert first.seed != other.seed
    assert not np.array_equal(first.X_test, PROTOCOLS[name].split(numbered, 1, seed=4).X_test)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_scaling_knows_the_training_part_alone(numbered, name):
    Recorder.seen.clear()
    split = PROTOCOLS[name].split(replace(numbered, prepare=Recorder()), 0)
    (fitted,) = Recorder.seen
    assert fitted.shape[0] == 450
    assert (split.X.min(), split.X.max()) == (0.0, 1.0)
    low, high = fitted[:, 0].min(), fitted[:, 0].max()
    tested = np.round(split.X_test[:, 0] * (high - low) + low).astype(int)
    assert not set(tested) & set(fitted[:, 0].astype(int))


def test_official_test_parts_are_used_by_the_paper_only(folder):
    data = load_set(folder, "sparse")
    official = PROTOCOLS["paper"].split(data, 0)
    assert official.X_test.shape[0] == 40
    np.testing.assert_array_equal(official.y_test, data.y[data.is_test])
    assert sparse.issparse(official.X)
    assert PROTOCOLS["modern"].split(data, 0).X_test.shape[0] == 30
    folds = [PROTOCOLS["paper"].split(data, number).folds[0][0] for number in (0, 1)]
    assert not np.array_equal(*folds)


def test_ratio_of_the_correction():
    assert PROTOCOLS["paper"].test_train_ratio == pytest.approx(1 / 3)


def test_repeated_folds_are_other_partitions(numbered):
    split = PROTOCOLS["modern"].split(numbered, 0)
    folds = split.repeated(3)
    assert len(folds) == 15
    assert all(a is b for pair, own in zip(folds, split.folds) for a, b in zip(pair, own))
    for first in (5, 10):
        held_out = [part for _, part in folds[first : first + 5]]
        np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(450))
        assert not np.array_equal(held_out[0], folds[0][1])
    assert len(PROTOCOLS["paper"].split(numbered, 0).repeated(3)) == 1


def test_many_positives_need_fewer_partitions(numbered):
    split = PROTOCOLS["modern"].split(numbered, 0)
    many = replace(split, y=np.ones(split.y.size, dtype=int))
    n_pos = split.y.size
    assert len(many.repeated(100)) == 5 * -(-2000 // n_pos)
    assert len(replace(split, y=np.tile(many.y, 5)).repeated(100)) == 5
