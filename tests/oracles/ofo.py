"""OFO, literally: posteriors and labels (0, 1) in, predictions and thresholds out."""


def ofo(posteriors, labels, *, beta, a=0.0, b=0.0, forgetting=1.0):
    """Yield (prediction, threshold after the label is seen, numerator, denominator)."""
    tau = a / b if b > 0 else 0.0
    for eta, y in zip(posteriors, labels):
        y_hat = 1 if eta >= tau else 0
        a = forgetting * a + y * y_hat
        b = forgetting * b + beta**2 * y + y_hat
        if b > 0:
            tau = a / b
        yield y_hat, tau, a, b
