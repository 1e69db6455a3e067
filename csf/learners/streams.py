"""Train learners from a stream, and evaluate them while they learn."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, cast

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from csf._common.files import reading, replaced
from csf._common.sklearn import safe_indexing
from csf._common.typing import Array, Estimator, FloatArray, IntArray, Label, PathLike, Samples
from csf._common.validation import check_count, check_path
from csf.learners.chunks import Chunk, ChunkIterator
from csf.metrics import Metric, get_metric
from csf.metrics.profile import ErrorProfile

# ---------------------------------------------------------------- fitting from a stream


FORMAT = "csf-stream"
# The last bytes of a file: a checksum of all before it, as a pickle itself does not notice flipped bits.
_MARK = b"\ncsf-stream sha256 "
_END = len(_MARK) + 2 * hashlib.sha256().digest_size


def fit_stream(
    learner: Estimator,
    chunks: Iterable[Chunk],
    *,
    classes: ArrayLike | None = None,
    save_to: PathLike | None = None,
    save_every: int = 100,
) -> Estimator:
    """Train a learner on chunks, one ``partial_fit`` for each.

    Parameters
    ----------
    learner : estimator
        Anything with ``partial_fit(X, y)``. It is trained further, not from scratch.
    chunks : iterable
        Pairs ``(X, y)``, such as `iter_svmlight`, `iter_parquet` or `iter_arrays` give them. Several passes are a
        matter of these (``passes=3``).
    classes : array-like, default=None
        Labels to give the learner with the first chunk, which need not hold all of them.
    save_to : str or Path, default=None
        File that keeps the learner and the place in the stream, see `save_stream`; ``None`` saves nothing.
    save_every : int, default=100
        Chunks between two savings; the end of the stream is saved too.

    Returns
    -------
    estimator
        The learner.

    Raises
    ------
    ValueError
        If there is not a single chunk.

    Examples
    --------
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> chunks = iter_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1], 2, passes=5)
    >>> fit_stream(SGDClassifier(random_state=0), chunks, classes=[0, 1]).predict([[0.0], [3.0]])
    array([0, 1])
    """
    save_every = check_count(save_every, "save_every")
    check_path(save_to, "save_to")
    if not hasattr(learner, "partial_fit"):
        raise TypeError(f"{learner!r} cannot learn from a stream: it has no partial_fit")
    n_chunks = 0
    for X, y in chunks:
        if n_chunks == 0 and classes is not None:
            learner.partial_fit(X, y, classes=classes)
        else:
            learner.partial_fit(X, y)
        n_chunks += 1
        if save_to is not None and n_chunks % save_every == 0:
            save_stream(save_to, learner, cast("ChunkIterator", chunks))  # others are refused there
    # A stream that was saved at its end has nothing left, rightly.
    if n_chunks == 0 and getattr(chunks, "n_rows", 0) == 0:
        raise ValueError("the stream has no chunks: the source is empty, or an iterator is used a second time")
    if save_to is not None and n_chunks % save_every:
        save_stream(save_to, learner, cast("ChunkIterator", chunks))
    return learner


def save_stream(path: PathLike, learner: Estimator, chunks: ChunkIterator) -> None:
    """Keep a learner and its place in a stream in a file.

    The file is written beside ``path`` and moved there, so that a crash leaves the one before.

    Parameters
    ----------
    path : str or Path
        File, written by joblib.
    learner : estimator
        The learner, its random state included.
    chunks : ChunkIterator
        The stream, at the place where the learner is to go on.

    Raises
    ------
    TypeError
        If the stream cannot be pickled, as a generator cannot.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> path = os.path.join(tempfile.mkdtemp(), "state.joblib")
    >>> chunks = iter_arrays([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], 2)
    >>> learner = SGDClassifier(random_state=0).partial_fit(*next(chunks), classes=[0, 1])
    >>> save_stream(path, learner, chunks)
    >>> learner, chunks = load_stream(path)
    >>> fit_stream(learner, chunks).t_
    5.0
    """
    path = os.fspath(path)
    try:
        with replaced(path, "w+b") as file:
            joblib.dump({"format": FORMAT, "learner": learner, "chunks": chunks}, file)
            file.seek(0)
            checksum = hashlib.file_digest(file, "sha256").hexdigest().encode()
            file.write(_MARK + checksum)
    except TypeError as error:
        raise TypeError(f"cannot save this stream or learner: {error}. Streams of csf.streams can be saved") from error


def load_stream(path: PathLike) -> tuple[Estimator, ChunkIterator]:
    """Learner and stream of a file of `save_stream`; both go on as if they had never stopped.

    Parameters
    ----------
    path : str or Path
        File from a trusted source: like every pickle it can run code.

    Returns
    -------
    learner : estimator
        The learner.
    chunks : ChunkIterator
        The rest of the stream.

    Raises
    ------
    ValueError
        If the file is something else, or damaged: its checksum is compared before anything is unpickled.
    """
    path = os.fspath(path)
    with open(path, "rb") as file:
        _check_whole(file, path)
        with reading(path, "a file of csf.streams.save_stream"):
            content = joblib.load(file)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{path} was not written by csf.streams.save_stream")
    return content["learner"], content["chunks"]


def _check_whole(file: IO[bytes], path: str) -> None:
    """Refuse a file whose content and checksum differ; else go to its beginning."""
    size = os.path.getsize(path)
    file.seek(max(size - _END, 0))
    end = file.read()
    if not end.startswith(_MARK):
        raise ValueError(
            f"{path} was not written by csf.streams.save_stream, or it is truncated: it does not end with a checksum. "
            "Start again; files of an earlier csf had none, so that they cannot be distinguished from damaged ones"
        )
    file.seek(0)
    digest, left = hashlib.sha256(), size - _END
    while block := file.read(min(left, 1 << 20)):
        digest.update(block)
        left -= len(block)
    if digest.hexdigest().encode() != end.removeprefix(_MARK):
        raise ValueError(f"{path} is damaged: its content and its checksum differ. Start again, or from a copy of it")
    file.seek(0)


# ---------------------------------------------------------------- prequential values


@dataclass(frozen=True)
class PrequentialResult:
    """Predictions of a learner, each made before its example was learnt, counted as the stream goes by.

    Parameters
    ----------
    n_examples : ndarray of int, shape (n_records,)
        Examples seen at each record.
    seconds : ndarray of shape (n_records,)
        Time that the learner took for them, to predict and to learn.
    counts : ndarray of int, shape (n_records, 4)
        True positives, false positives, false negatives and true negatives among all predictions so far.
    every : int
        Examples between two records.
    metric : Metric
        What `values` shows.
    window : int or None
        Number of last examples that `values` looks at; ``None`` for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[1, 1, 2, 6], [4, 2, 2, 12]])
    >>> result = PrequentialResult(np.array([10, 20]), np.array([0.1, 0.2]), counts, 10, get_metric("f1"), None)
    >>> result.values
    array([0.4 , 0.667])
    >>> result.curve("f1", window=10), result.curve("recall")
    (array([0.4 , 0.857]), array([0.333, 0.667]))
    """

    n_examples: IntArray
    seconds: FloatArray
    counts: IntArray = field(repr=False)
    every: int
    metric: Metric
    window: int | None

    @property
    def values(self) -> FloatArray:
        """The metric at each record, ndarray of shape (n_records,); see `curve`."""
        return self.curve(self.metric, window=self.window)

    def curve(self, metric: str | Metric, *, window: int | None = None) -> FloatArray:
        """Any metric at each record.

        Parameters
        ----------
        metric : str or Metric
            A name in ``csf.metrics.METRICS`` or an object; ``"recall"`` and ``"specificity"`` are TPR and TNR.
        window : int, default=None
            Number of last examples to look at, a multiple of ``every``; ``None`` for all since the beginning. Before
            there are so many, it is all of them; at an end between two records it is up to ``every`` more.

        Returns
        -------
        ndarray of shape (n_records,)
            The values; NaN where only one class was met.
        """
        metric, window = get_metric(metric), _check_window(window, self.every)
        counts = self.counts
        if window is not None:
            before = np.searchsorted(self.n_examples, self.n_examples - window, side="right")
            counts = counts - np.vstack([np.zeros((1, 4), dtype=counts.dtype), counts])[before]
        return np.array([_value(metric, *row) for row in counts.tolist()])


def prequential(
    learner: Estimator,
    chunks: Iterable[Chunk],
    *,
    metric: str | Metric = "f1",
    window: int | None = None,
    every: int = 1000,
    classes: ArrayLike | None = None,
    pos_label: Label = None,
) -> PrequentialResult:
    """Let a learner predict each chunk of a stream before it learns it, and count what it predicts.

    Parameters
    ----------
    learner : estimator
        Anything with ``predict(X)`` and ``partial_fit(X, y)``. As long as it cannot predict, because it has not
        learnt anything yet, it learns only.
    chunks : iterable
        Pairs ``(X, y)``, such as `iter_svmlight`, `iter_parquet` or `iter_arrays` give them.
    metric : str or Metric, default="f1"
        What the ``values`` of the result show. All others can be had from the same result.
    window : int, default=None
        Number of last examples that the ``values`` look at, a multiple of ``every``; ``None`` for all.
    every : int, default=1000
        Examples between two records. Chunks are split there, so that no prediction is older than this.
    classes : array-like, default=None
        Labels to give the learner with the first chunk.
    pos_label : label, default=None
        Positive class; ``None`` means the learner's ``pos_label_``, or 1 for labels {0, 1} or {-1, 1}.

    Returns
    -------
    PrequentialResult
        What it counted.

    Raises
    ------
    ValueError
        If there are no chunks, or the positive class is not known.

    Notes
    -----
    The seconds are those of ``predict`` and ``partial_fit``, without the reading of chunks. The first call of a
    compiled learner includes the compilation where it is not in the cache.

    References
    ----------
    .. [1] J. Gama, R. Sebastião, P. Rodrigues, "On evaluating stream learning algorithms", Machine Learning 90, 2013.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import SGDClassifier
    >>> from csf.streams import iter_arrays
    >>> X, y = make_classification(4000, weights=[0.9], random_state=0)
    >>> chunks = iter_arrays(X, y, 100)
    >>> result = prequential(SGDClassifier(random_state=0), chunks, every=1000, classes=[0, 1])
    >>> result.n_examples, result.values
    (array([1000, 2000, 3000, 4000]), array([0.447, 0.486, 0.514, 0.5  ]))
    """
    metric, every = get_metric(metric), check_count(every, "every")
    window = _check_window(window, every)
    counts, n_examples, seconds = np.zeros(4, dtype=np.int64), 0, 0.0
    records: list[tuple[int, float, IntArray]] = []
    for X, y in _pieces(chunks, every):
        start = time.perf_counter()
        predicted = _predictions(learner, X)
        # scikit-learn's learners want the classes at first only, and no others later
        learner.partial_fit(X, y, **({} if n_examples or classes is None else {"classes": classes}))
        seconds += time.perf_counter() - start
        n_examples += y.shape[0]
        if predicted is not None:
            counts = counts + _confusion(y, predicted, _positive(learner, y, pos_label))
        # A record between two due ones is made only to be the last, where the stream ends there.
        if records and records[-1][0] % every:
            records.pop()
        records.append((n_examples, seconds, counts))
    if not records:
        raise ValueError("the stream has no chunks: the source is empty, or an iterator is used a second time")
    seen, times, counted = map(np.array, zip(*records))
    return PrequentialResult(seen, times, counted, every, metric, window)


def _check_window(window: int | None, every: int) -> int | None:
    if window is None:
        return None
    if check_count(window, "window") % every:
        raise ValueError(f"window must be a multiple of every={every}, where the records are, got {window}")
    return window


def _pieces(chunks: Iterable[Chunk], every: int) -> Iterator[Chunk]:
    """The chunks, cut where a record is due."""
    n_examples = 0
    for X, y in chunks:
        y = np.asarray(y)
        start = 0
        while start < y.shape[0]:
            stop = min(y.shape[0], start + every - n_examples % every)
            whole = stop - start == y.shape[0]
            yield (X, y) if whole else (safe_indexing(X, slice(start, stop)), y[start:stop])
            n_examples += stop - start
            start = stop


def _predictions(learner: Estimator, X: Samples) -> Array | None:
    try:
        return np.asarray(learner.predict(X))
    except NotFittedError:
        return None


def _positive(learner: Estimator, y: Array, pos_label: Label) -> Label:
    if pos_label is not None:
        if np.ndim(pos_label) != 0:
            raise TypeError(f"pos_label must be one of the labels, got {pos_label!r}")
        return pos_label
    if hasattr(learner, "pos_label_"):
        return learner.pos_label_
    if not (y.dtype.kind in "biuf" and np.isin(y, (-1, 0, 1)).all()):
        raise ValueError(f"pos_label=None stands for 1 with labels {{0, 1}} or {{-1, 1}}, y holds {y.tolist()[0]!r}")
    return 1


def _confusion(y: Array, predicted: Array, positive: Label) -> IntArray:
    """Counts of true and false positives, false and true negatives."""
    return np.bincount(2 * (predicted != positive) + (y != positive), minlength=4)


def _value(metric: Metric, tp: int, fp: int, fn: int, tn: int) -> float:
    if tp + fn == 0 or fp + tn == 0:
        return float("nan")
    return metric.of(ErrorProfile.from_counts(tp=tp, fp=fp, fn=fn, tn=tn))
