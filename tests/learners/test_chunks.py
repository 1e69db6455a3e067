"""ChunkIterator: places, passes, pickles in the middle, errors that stay."""

import pickle

import numpy as np
import pytest

from csf.streams import ChunkIterator, iter_arrays


class Counting(ChunkIterator):
    """Numbers 0 to 4; the one at ``bad`` cannot be read."""

    def __init__(self, *, bad=None, **options):
        super().__init__(1, **options)
        self.bad = bad

    def _size(self):
        return 5

    def _read(self, place):
        for at in range(place, 5):
            if at == self.bad:
                raise ValueError(f"number {at} is bad")
            yield np.array([[at]]), np.array([at]), at + 1, at + 1


def numbers(chunks):
    return [int(y[0]) for _, y in chunks]


def test_passes_and_counters():
    chunks = Counting(passes=2)
    assert (chunks.n_rows, chunks.n_passes) == (0, 0)
    assert numbers(chunks) == [0, 1, 2, 3, 4] * 2
    assert (chunks.n_rows, chunks.n_passes) == (10, 2)
    assert list(chunks) == []


@pytest.mark.parametrize("taken", range(11))
def test_a_pickle_goes_on_with_the_next_chunk(taken):
    chunks = Counting(passes=2)
    for _ in range(taken):
        next(chunks)
    other = pickle.loads(pickle.dumps(chunks))
    assert other.n_rows == taken
    assert numbers(other) == ([0, 1, 2, 3, 4] * 2)[taken:]
    assert numbers(chunks) == ([0, 1, 2, 3, 4] * 2)[taken:]


def test_an_error_is_met_again_and_hides_nothing():
    chunks = Counting(bad=2)
    assert int(next(chunks)[1][0]) == 0
    next(chunks)
    for _ in range(2):
        with pytest.raises(ValueError, match="number 2 is bad"):
            next(chunks)
    assert chunks.n_rows == 2
    chunks.bad = None
    assert numbers(chunks) == [2, 3, 4]


def test_progress_bar_counts_all_passes_and_starts_where_the_stream_does(capsys):
    chunks = Counting(passes=2, progress=True)
    for _ in range(6):
        next(chunks)
    numbers(pickle.loads(pickle.dumps(chunks)))
    assert "60%" in (err := capsys.readouterr().err)
    assert "10/10" in err


def test_no_bar_without_progress(capsys):
    numbers(Counting())
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["chunk_size", "passes"])
def test_counts_are_checked(name):
    options = {"chunk_size": 2, "passes": 1} | {name: 0}
    with pytest.raises(ValueError, match=f"{name} must be an int >= 1, got 0"):
        iter_arrays([[1.0]], [0], **options)
