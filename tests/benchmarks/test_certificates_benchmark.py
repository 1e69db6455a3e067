"""The simulations behind certificates run, give rows, and know the truth."""

import numpy as np
import pytest

from csf import CostSearch, ErrorProfile
from tests.benchmarks import certificates
from tests.benchmarks.certificates import KEPT, PROBLEMS, QUICK


@pytest.mark.filterwarnings("ignore:no threshold certifies")
def test_problems_give_rows():
    (row,) = certificates.rows([PROBLEMS["precision"]], 4)
    assert (row["samples"], row["constraint"]) == (1000, "precision >= 0.7")
    assert row["signed"].endswith("%")
    assert len(PROBLEMS) > len(KEPT) >= 12


def test_layouts_have_the_same_effective_size():
    sizes = {}
    for layout in certificates.LAYOUTS:
        part = certificates.SCORES[0].draw(np.random.default_rng(0), 20_000, layout)
        weight = np.ones(part.score.size) if part.weight is None else part.weight
        total = weight if part.groups is None else np.bincount(part.groups, weight)
        sizes[layout] = total.sum() ** 2 / (total**2).sum()
    assert sizes["lognormal weights"] == pytest.approx(sizes["equal rows"], rel=0.1)
    assert sizes["unequal groups"] == pytest.approx(sizes["equal groups"], rel=0.1)
    row = next(certificates.layouts(1))
    assert (row["layout"], row["rows"]) == ("equal rows", 1000)


def test_bands_give_rows(monkeypatch):
    monkeypatch.setattr(certificates, "BANDS", certificates.BANDS[:1])
    (row,) = certificates.bands(2)
    assert (row["samples"], row["positives"], row["scores"]) == (400, "10%", "continuous")
    assert row["some bound is false"] in ("0.0%", "50.0%", "100.0%")


@pytest.mark.parametrize("name", ["precision", "ties", "easy negatives 20 : 1", "lognormal along the score"])
@pytest.mark.parametrize("flipped", [0.0, 0.2])
def test_the_formula_is_what_many_samples_show(name, flipped):
    problem = PROBLEMS[name]
    if problem.weights != "one":
        flipped = 0.0
    few = certificates.replace(problem, flipped=flipped, n_samples=1000)
    X, y, weight = few.draw(np.random.default_rng(0))
    base = certificates.LinearSVC()
    search = CostSearch(base, "f1", random_state=0, **QUICK).fit(X, y, sample_weight=weight)
    X, y, weight = certificates.replace(few, n_samples=100_000).draw(np.random.default_rng(1))
    found = ErrorProfile.from_masks(y, search.predict(X) > 0, sample_weight=weight)
    fn, fp, pos = few.truth(search, search.best_threshold_)
    assert (found.fn, found.fp, found.pos) == pytest.approx((fn, fp, pos), abs=0.012)
