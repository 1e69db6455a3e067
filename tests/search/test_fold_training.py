"""What a training on a fold leaves behind where it fails in another process."""

import pickle

from csf.search.fold_training import Cause


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
