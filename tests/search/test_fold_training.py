"""What a training on a fold leaves behind where it fails in another process."""

import pickle

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from csf.data.costs import cost_channel
from csf.data.folds import Fold, Task
from csf.data.labels import Labels
from csf.data.responses import Response
from csf.search.training import Cause, run_fold
from csf.trainers import GenericTrainer


def test_an_error_travels_with_the_text_of_its_traceback():
    try:
        raise MemoryError("too large")
    except MemoryError as error:
        cause = Cause(error)
    arrived = pickle.loads(pickle.dumps(cause)).error
    assert isinstance(arrived, MemoryError)
    (note,) = arrived.__notes__
    assert "In a worker:" in note
    assert 'raise MemoryError("too large")' in note


def test_what_cannot_travel_breaks_nothing():
    assert pickle.loads(pickle.dumps(Cause(None))).error is None
    error = ValueError("no")
    error.lock = (each for each in ())
    assert pickle.loads(pickle.dumps(Cause(error))).error is None


class Told(GenericTrainer):
    """Answers what it is told."""

    def predict(self, training, part, *, tune):
        return self.answer


def alike(trainer=GenericTrainer):
    labels, y = Labels(np.array(["a", "b", "c"]), None), np.tile([0, 1, 2], 8)
    fold = Fold(
        Task(np.random.default_rng(0).normal(size=(24, 2)) + y[:, None], y, labels=labels),
        *np.split(np.arange(24), [18]),
    )
    return trainer(GaussianNB(), fold, cost_channel(GaussianNB())), fold.without_samples


def test_scores_of_classes_that_are_alike_are_those_of_all():
    trainer, fold = alike()
    result = run_fold(trainer, fold, (1.0, 2.0, 1.0), tune=True, on_train=False)
    model = trainer.train_base((1.0, 2.0, 1.0))
    assert result.error is None
    assert result.lost is None
    assert np.array_equal(result.score, model.predict_proba(trainer.fold.X_test))
    assert np.array_equal(result.decided, model.predict(trainer.fold.X_test))


CODES, GOOD = np.array([0, 1, 2, 0, 1, 2]), np.full((6, 3), 1 / 3)


@pytest.mark.parametrize(
    ("decided", "score", "message"),
    [
        (CODES[:5], GOOD, r"GaussianNB gave decisions of shape \(5,\) for 6 samples"),
        (CODES, GOOD[:, 0], r"GaussianNB gave scores of shape \(6,\) for 6 samples, not \(6, 3\)"),
        (CODES, GOOD[:, :2], r"GaussianNB gave scores of shape \(6, 2\) for 6 samples, not \(6, 3\)"),
        (CODES, None, r"GaussianNB gave scores of shape \(\) for 6 samples, not \(6, 3\)"),
        (CODES, np.where(np.eye(6, 3), np.nan, GOOD), "GaussianNB gave NaN or infinite scores for 3 of 6 samples"),
        (CODES, np.where(np.eye(6, 3), -np.inf, GOOD), "GaussianNB gave NaN or infinite scores for 3 of 6 samples"),
        (CODES + 1, GOOD, r"predicted the classes \[3\], but it was trained on the codes \[0, 1, 2\] alone"),
    ],
)
def test_answers_about_classes_that_cannot_be(decided, score, message):
    trainer, fold = alike(Told)
    trainer.answer = Response(decided, score, 1)
    result = run_fold(trainer, fold, (1.0, 1.0, 1.0), tune=True, on_train=False)
    with pytest.raises(ValueError, match=message):
        result.raise_error()
