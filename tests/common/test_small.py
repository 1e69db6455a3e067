"""Tables in Markdown and small indices."""

import numpy as np
from csf._common.tables import markdown_table

from csf._common.indices import small_indices


def test_columns_after_the_first_hold_numbers():
    assert markdown_table(["method", "f1"], [["grid", "0.5"]]) == "| method | f1 |\n| --- | ---: |\n| grid | 0.5 |"


def test_places_take_four_bytes_where_these_reach():
    at = np.array([2, 0])
    assert (small_indices(at, 3).dtype, small_indices(at, 2**32).dtype) == (np.int32, np.int64)
