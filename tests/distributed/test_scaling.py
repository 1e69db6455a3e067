"""Scalers that are fitted from sums over parts are those fitted to all rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from csf.distributed.newton import Moments, Scaling, scalers_of

# A column far from 0, one of large values, one that is constant, one of zeros.
X = np.random.default_rng(0).normal(size=(500, 5)) * [1, 1e-2, 1e4, 0, 0] + [0, 2000, 3, 7, 0]
CHAINS = {
    "standard": [StandardScaler()],
    "scale alone": [StandardScaler(with_mean=False)],
    "range": [MinMaxScaler((-1, 2))],
    "largest": [MaxAbsScaler()],
    "two": [MinMaxScaler(), StandardScaler(with_std=False)],
}


def moments_of(X, n_parts=4):
    rows = np.array_split(np.arange(X.shape[0]), n_parts)
    return Moments.merged([Moments.of(X[at]) for at in rows])


@pytest.mark.parametrize("chain", CHAINS)
def test_scalers_are_those_of_all_rows(chain):
    scaling = Scaling.of(CHAINS[chain], moments_of(X), 1.0, None)
    known = make_pipeline(*CHAINS[chain]).fit(X)
    found = X
    for scaler in scaling.scalers:
        found = scaler.transform(found)
        assert scaler.n_samples_seen_ == 500
    np.testing.assert_allclose(found, known.transform(X), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(X * scaling.slope + scaling.shift, known.transform(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("chain", ["scale alone", "largest"])
def test_sparse_rows(chain):
    rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    scaling, known = Scaling.of(CHAINS[chain], moments_of(rows), 0.0, None), make_pipeline(*CHAINS[chain]).fit(rows)
    np.testing.assert_allclose(scaling.scalers[0].transform(rows).toarray(), known.transform(rows).toarray(), rtol=1e-6)
    assert not scaling.shift.any()


def test_a_shift_that_cannot_be_taken_in_is_refused():
    rows = sparse.csr_array(np.where(X > 0, X, 0.0))
    with pytest.raises(
        ValueError, match="sparse features would be dense where a scaler shifts them; use StandardScaler"
    ):
        Scaling.of(CHAINS["standard"], moments_of(rows), 1.0, None)
    with pytest.raises(ValueError, match="a model without an intercept is another where a scaler shifts them"):
        Scaling.of(CHAINS["standard"], moments_of(X), 0.0, None)


def test_pipelines_of_scalers():
    assert scalers_of(LogisticRegression()) is None
    assert scalers_of(make_pipeline(LogisticRegression())) is None
    assert scalers_of(make_pipeline(MinMaxScaler(clip=True), LogisticRegression())) is None
    assert len(scalers_of(make_pipeline(*CHAINS["two"], LogisticRegression()))) == 2
