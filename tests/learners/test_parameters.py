"""Parameters that online learners refuse."""

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from csf.metrics import Metric
from csf.metrics.concave import Concave
from csf.online import FOFO, OFO, OMCSL, SPADE, STAMP, OnlineLogistic


class Other(Concave):
    """Concave, but not compiled."""

    name = "other"
    link = gradient = conjugate = dual = project = None


class Plain(Metric):
    """Neither a ratio nor a function of the rates."""

    name = "plain"

    def value(self, fn, fp, *, pos):
        return 1.0 - fn - fp


@pytest.mark.parametrize(
    ("kind", "settings", "error", "message"),
    [
        (OnlineLogistic, {"eta0": 0.0}, ValueError, "eta0 must be positive and finite, got 0"),
        (OnlineLogistic, {"eta0": "fast"}, TypeError, "eta0 must be a number, positive and finite, got 'fast'"),
        (OnlineLogistic, {"alpha": -1.0}, ValueError, "alpha must be >= 0 and finite, got -1"),
        (OnlineLogistic, {"gain": "late"}, TypeError, "gain must be a number, >= 0 and finite, got 'late'"),
        (OnlineLogistic, {"radius": np.inf}, ValueError, "radius must be positive and finite, got inf"),
        (OnlineLogistic, {"averaging": "polyak"}, ValueError, "averaging must be one of .*'poly'.*, got 'polyak'"),
        (OnlineLogistic, {"fit_intercept": 1}, TypeError, "fit_intercept must be True or False, got 1"),
        (OnlineLogistic, {"intercept_scaling": 0}, ValueError, "intercept_scaling must be positive and finite, got 0"),
        (OnlineLogistic, {"passes": 0}, ValueError, "passes must be an int >= 1, got 0"),
        (OnlineLogistic, {"shuffle": "yes"}, TypeError, "shuffle must be True or False, got 'yes'"),
        (OFO, {"metric": "gmean"}, TypeError, "OFO finds thresholds for F-beta and Jaccard .* got metric='gmean'"),
        (
            OFO,
            {"posterior": SGDClassifier()},
            TypeError,
            "SGDClassifier.. has no predict_proba; such as OnlineLogistic",
        ),
        (OFO, {"posterior": 3}, TypeError, "posterior must have partial_fit and predict_proba, 3 has no partial_fit"),
        (
            OFO,
            {"posterior": OnlineLogistic(-1.0, step="paper")},
            ValueError,
            "eta0 must be positive and finite, got -1",
        ),
        (OFO, {"batch_size": 0}, ValueError, "batch_size must be an int >= 1, got 0"),
        (OFO, {"forgetting": 0.0}, ValueError, r"forgetting must be a number in \(0, 1\], got 0"),
        (OFO, {"forgetting": None}, TypeError, r"forgetting must be a number in \(0, 1\], got None"),
        (OFO, {"prior": 1.0}, TypeError, "prior must be a pair of numbers, got 1.0"),
        (
            FOFO,
            {"metric": "accuracy"},
            TypeError,
            "FOFO finds thresholds for F-beta and Jaccard .* got metric='accuracy'",
        ),
        (FOFO, {"horizon": 0}, ValueError, "horizon must be an int >= 1, got 0"),
        (FOFO, {"horizon": 1e5}, TypeError, "horizon must be an int >= 1, got 100000.0"),
        (FOFO, {"step_scale": -1.0}, ValueError, "step_scale must be positive and finite, got -1"),
        (OMCSL, {"metric": "gmean"}, TypeError, "OMCSL serves .*, 'auroc' and 'auprc', got metric='gmean'. Use SPADE"),
        (OMCSL, {"metric": ["auroc"]}, TypeError, "metric must be a name or a csf.metrics.Metric"),
        (OMCSL, {"n_bins": 1}, ValueError, "n_bins must be an int >= 2, got 1"),
        (OMCSL, {"n_experts": 0}, ValueError, "n_experts must be an int >= 1, got 0"),
        (OMCSL, {"eta0": -1.0}, ValueError, "eta0 must be positive and finite, got -1"),
        (OMCSL, {"gamma": 0.0}, ValueError, "gamma must be positive and finite, got 0"),
        (OMCSL, {"gamma": "log"}, TypeError, "gamma must be a number, positive and finite, got 'log'"),
        (OMCSL, {"loss": "squared"}, ValueError, "loss must be one of .*'hinge'.*, got 'squared'"),
        (OMCSL, {"radius": None}, TypeError, "radius must be a number, positive and finite, got None"),
        (OMCSL, {"average": "yes"}, TypeError, "average must be True or False, got 'yes'"),
        (SPADE, {"metric": "f1"}, TypeError, "SPADE needs a concave metric .* FBeta has no conjugate. Use STAMP"),
        (SPADE, {"metric": "jaccard"}, TypeError, "Jaccard has no conjugate. Use STAMP"),
        (SPADE, {"metric": Other()}, TypeError, "'gmean'; Other is none of them. Use csf.fenchel.FenchelSVM"),
        (SPADE, {"metric": "nonsense"}, ValueError, "unknown metric 'nonsense'"),
        (SPADE, {"eta0": 0.0}, ValueError, "eta0 must be positive and finite, got 0.0"),
        (SPADE, {"dual_eta0": -1}, ValueError, "dual_eta0 must be positive"),
        (SPADE, {"radius": np.inf}, ValueError, "radius must be positive and finite, got inf"),
        (SPADE, {"reward": "squared"}, ValueError, "reward must be one of .*, got 'squared'"),
        (SPADE, {"sampling": "some"}, ValueError, "sampling must be one of"),
        (SPADE, {"dual": "open"}, ValueError, "dual must be one of"),
        (SPADE, {"eps": 0.1}, ValueError, "eps must be one of"),
        (SPADE, {"memory": 0.0}, ValueError, r"memory must be a number in \(0, 1\], got 0.0"),
        (SPADE, {"memory": "long"}, TypeError, r"memory must be a number in \(0, 1\], got 'long'"),
        (SPADE, {"gain": -1.0}, ValueError, "gain must be >= 0 and finite, got -1.0"),
        (SPADE, {"gain": np.nan}, ValueError, "gain must be >= 0 and finite, got nan"),
        (SPADE, {"pos": 1.0}, ValueError, "pos"),
        (SPADE, {"patience": 0}, ValueError, "patience must be an int >= 1, got 0"),
        (STAMP, {"metric": "qmean"}, TypeError, "STAMP needs a linear-fractional metric .*; QMean is none. Use SPADE"),
        (STAMP, {"metric": Plain()}, TypeError, "is none. Use csf.CostSearch"),
        (STAMP, {"eta0": 0.0}, ValueError, "eta0 must be positive"),
        (STAMP, {"radius": "1"}, TypeError, "radius must be a number, positive and finite"),
        (STAMP, {"growth": 0.5}, ValueError, "growth must be at least 1, got 0.5"),
        (STAMP, {"model_stage": 0}, ValueError, "model_stage"),
        (STAMP, {"challenge_stage": 1.5}, TypeError, "challenge_stage"),
        (STAMP, {"reward": "squared"}, ValueError, "reward must be one of"),
        (STAMP, {"level": "high"}, ValueError, "level must be one of"),
        (STAMP, {"start_level": 1.5}, ValueError, r"start_level must be a number in \[0, 1\], got 1.5"),
        (STAMP, {"start_level": "0"}, TypeError, r"start_level must be a number in \[0, 1\], got '0'"),
    ],
)
def test_bad_parameters_are_said(kind, settings, error, message):
    published = {} if kind is OMCSL else {"step": "paper"}
    with pytest.raises(error, match=message):
        kind(**(published | settings)).partial_fit([[0.0], [1.0]], [0, 1])
