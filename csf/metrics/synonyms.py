"""Other names of metrics and rates: the one table of them, for metrics, constraints and messages."""

from __future__ import annotations

# Of the same number. The statistic of Kolmogorov and Smirnov is the informedness at the best threshold.
_OTHER_NAMES = {
    "f1": "dice",
    "f1_macro": "macro_f1",
    "f1_micro": "micro_f1",
    "jaccard": "iou threat_score critical_success_index csi",
    "precision": "ppv positive_predictive_value",
    "npv": "negative_predictive_value",
    "recall": "sensitivity tpr true_positive_rate",
    "specificity": "selectivity tnr true_negative_rate",
    "fpr": "false_positive_rate fall_out",
    "fnr": "false_negative_rate miss_rate",
    "predicted_positive_rate": "predicted_rate selection_rate",
    "gmean": "geometric_mean",
    "hmean": "harmonic_mean",
    "qmean": "quadratic_mean",
    "cohen_kappa": "kappa cohens_kappa heidke_skill_score hss",
    "quadratic_kappa": "qwk",
    "mcc": "matthews matthews_correlation matthews_corrcoef phi phi_coefficient",
    "fowlkes_mallows": "fmi fowlkes_mallows_index",
    "informedness": "bookmaker_informedness youden youden_j youdens_j youden_index true_skill_statistic tss ks",
}
# Another name -> the name in csf.
SYNONYMS = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}

# What may be meant by other spellings, and by metrics that csf has in another form: for messages, letters alone.
MEANT = {other.replace("_", ""): name for other, name in SYNONYMS.items()}
MEANT |= {"fbeta": "f2", "weightedkappa": "quadratic_kappa", "sumsensspec": "balanced_accuracy"}


def known_name(name: str) -> str:
    """Return the name in csf of another one; others unchanged.

    Examples
    --------
    >>> known_name("sensitivity"), known_name("f2")
    ('recall', 'f2')
    """
    return SYNONYMS.get(name, name)
