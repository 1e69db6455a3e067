"""Margins of samples that a solution has not seen, from one solution of all samples."""

from __future__ import annotations

import numpy as np

from csf._common.typing import Array
from csf.solvers.base import Loss, inverse_of
from csf.solvers.matrix import Rows

# Least share of the curvature along a sample that the others are taken to have.
_LEAST = 1e-3


def margins_left_out(rows: Rows, loss: Loss, ridge: Array, margins: Array, weight: Array) -> Array:
    """Estimate the margin of each sample by coefficients without it, which are one Newton step away.

    ``margins`` are those of the solution with these weights, whose coefficients are penalised by half their squares
    times ``ridge``.
    """
    curvature, pull = loss.curvature(margins, weight), np.empty(margins.size)
    loss.terms(margins, np.ones(margins.size), weight, pull)
    matrix = np.zeros((ridge.size, ridge.size))
    rows.add_gram(np.arange(rows.n_rows), curvature, matrix)
    values, vectors = np.linalg.eigh(inverse_of(matrix, ridge)(np.eye(ridge.size)))
    leverage = np.zeros(margins.size)
    for axis in (vectors * np.sqrt(np.maximum(values, 0.0))).T:
        leverage += np.square(rows.scores(axis))
    return margins - leverage * pull / np.maximum(1.0 - leverage * curvature, _LEAST)
