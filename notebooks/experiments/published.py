"""Numbers of the paper, to stand beside ours."""

__all__ = ["KOVACS_2019", "TABLE_2"]

# K. Bascol et al., "From Cost-Sensitive Classification to Tight F-measure Bounds", AISTATS 2019, Table 2:
# F1 x 100, means over 5 runs, and their standard deviations.
_COLUMNS = ("SVM", "SVM-IR", "SVM-grid", "SVM-CONE", "SVM-CONE+T", "LR+T", "LR-IR+T", "LR-grid+T", "LR-bisection")
_ROWS = {
    "adult": "62.5 0.2  64.9 0.3  66.4 0.1  66.5 0.1  66.4 0.1  66.5 0.1  66.5 0.1  66.5 0.1  66.6 0.1",
    "abalone10": "0.0 0.0  30.9 1.2  32.4 1.3  32.2 0.8  31.8 1.9  30.8 2.2  30.7 1.9  30.7 1.9  31.6 0.6",
    "abalone12": "0.0 0.0  16.8 2.7  16.8 4.2  18.3 3.3  16.3 3.0  15.5 3.1  17.0 3.3  17.0 3.3  17.7 3.7",
    "pageblocks": "48.1 5.8  39.6 4.7  66.4 3.2  62.8 3.9  67.6 4.0  59.2 8.1  55.9 6.4  55.9 6.4  55.7 5.7",
    "wine": "0.0 0.0  15.6 5.2  20.0 6.4  22.7 6.0  19.3 7.9  21.5 3.7  25.2 4.5  25.2 4.5  18.3 7.2",
    "letter": "75.4 0.7  74.9 0.8  80.8 0.5  81.0 0.3  81.0 0.4  82.9 0.3  82.9 0.3  82.9 0.3  74.9 0.5",
    "news20": "90.9 0.1  91.0 0.2  91.1 0.1  91.0 0.1  91.0 0.1  90.6 0.1  90.6 0.1  90.6 0.1  89.4 0.2",
}


def _pairs(text: str) -> dict[str, tuple[float, float]]:
    numbers = [float(word) for word in text.split()]
    return dict(zip(_COLUMNS, zip(numbers[::2], numbers[1::2]), strict=True))


# data set -> method -> (mean, standard deviation)
TABLE_2 = {name: _pairs(text) for name, text in _ROWS.items()}

# G. Kovács, "An empirical comparison and evaluation of minority oversampling techniques on a large number of imbalanced
# datasets", Applied Soft Computing 83, 2019, 105662, the best three of 85 oversamplers (page "Ranking" of the package
# smote-variants): metric -> oversampler -> value x 100. Means over 104 sets and four families of classifiers of the
# maximum over up to 35 settings of the oversampler and all settings of the classifier, on the judged folds.
KOVACS_2019 = {
    "f1": {"polynom-fit-SMOTE": 69.5, "ProWSyn": 69.0, "SMOTE-IPF": 68.8},
    "gmean": {"polynom-fit-SMOTE": 87.1, "ProWSyn": 86.8, "SMOTE-IPF": 86.9},
}
