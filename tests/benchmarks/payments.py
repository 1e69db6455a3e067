"""What the search of the README's command saves on other splits of the payments.

``python -m tests.benchmarks payments`` runs ``csf search payments --fn-cost amount --fp-cost 5`` with the seeds 0, 1,
..., and prints savings x 100 on the held-out rows of csf and of the best single threshold, the smallest and the largest
difference, and how many of its 90 % intervals are above 0.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from csf.cli import main as command
from csf.cli.problem import ONE
from tests.benchmarks.tables import print_table

__all__ = ["main", "measured"]


def measured(seed, file):
    """Savings of csf and of the best single threshold on held-out rows, and the lower end of their difference."""
    words = ["search", "payments", "--fn-cost", "amount", "--fp-cost", "5", "--seed", str(seed), "--json", str(file)]
    if command([*words, "--quiet"]):
        raise RuntimeError(f"csf {' '.join(words)} failed")
    own, *others = json.loads(file.read_text(encoding="utf-8"))["held_out_intervals"]
    rival = next(each for each in others if each["name"] == ONE)
    return own["value"], rival["value"], rival["difference_interval"][0]


def main(argv=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=20, help="number of splits (20)")
    seeds = range(parser.parse_args(argv).seeds)
    with tempfile.TemporaryDirectory() as folder:
        own, rival, low = np.array([measured(seed, Path(folder, "results.json")) for seed in seeds]).T
    gains = 100 * (own - rival)
    row = {
        "csf": f"{100 * own.mean():.1f}",
        ONE: f"{100 * rival.mean():.1f}",
        "difference": f"{gains.mean():+.1f} ({gains.min():+.1f} to {gains.max():+.1f})",
        "intervals above 0": f"{(low > 0).sum()} of {low.size}",
    }
    print_table([row])


if __name__ == "__main__":
    main()
