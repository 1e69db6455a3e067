"""Arguments that are no numbers are checked."""

import pytest
from sklearn.svm import LinearSVC

from csf import CostSearch


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("callbacks", print),
        ("callbacks", "text"),
        ("callbacks", [1]),
        ("checkpoint", 1),
        ("checkpoint", 2.5),
        ("checkpoint", ""),
    ],
)
def test_callbacks_and_checkpoint_are_checked(name, value):
    search = CostSearch(LinearSVC(), **{name: value})
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        search.fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize("grid", [0, [1.0], {"C": 1.0}, [], ()])
def test_the_grid_of_parameters_is_named(grid):
    with pytest.raises((TypeError, ValueError), match=r"param_grid=.* cannot be used: (Parameter|it holds no setting)"):
        CostSearch(LinearSVC(), param_grid=grid).fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize(("metric", "answer"), [("recall", "positive"), ("specificity", "negative")])
def test_a_search_that_has_nothing_to_find_says_so(metric, answer):
    X, y = [[0.0], [1.0], [2.0]] * 10, [0, 0, 1] * 10
    search = CostSearch(LinearSVC(), metric, param_grid=None, n_trials=2, cv=2)
    message = f"{metric} is largest when every sample is predicted {answer}.* such as constraint='"
    with pytest.warns(UserWarning, match=message):
        search.fit(X, y)
    fitted = LinearSVC().fit(X, y)
    with pytest.warns(UserWarning, match=message):
        CostSearch(fitted, metric, cv="prefit").fit(X, y)
    search.set_params(constraint=f"{'precision' if metric == 'recall' else 'recall'} >= 0.8").fit(X, y)
