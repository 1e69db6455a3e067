"""Feed a learner from a stream, and keep both on disk to go on later."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, cast

import joblib
from numpy.typing import ArrayLike

from csf._common.files import reading, replaced
from csf._common.typing import Estimator, PathLike
from csf._common.validation import check_count, check_path

if TYPE_CHECKING:
    from csf.streams.base import Chunk, ChunkIterator

__all__ = ["fit_stream", "load_stream", "save_stream"]

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
