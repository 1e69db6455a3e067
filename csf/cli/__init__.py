"""Command line interface: ``csf search``, ``compare``, ``predict``, ``audit``, ``threshold`` and ``monitor``."""

from __future__ import annotations

import sys

from csf._common import __version__

__all__ = ["VERSION", "main"]

VERSION = f"csf {__version__}"

START = """\
csf finds the class weights, C and the threshold that are best for F1 and other metrics.

  csf search payments --fn-cost amount --fp-cost 5        try it on payments that csf draws
  csf search train.csv --target churn --positive yes      search, and say what to expect
  csf search ... --save model.skops --report report.html  keep the model, and a page about it
  csf predict model.skops new.csv -o scores.csv           labels and scores of new rows
  csf audit model.skops new.csv -o audit.csv              few rows to label, to know it on all
  csf monitor model.skops june.csv --target churn --state state.json   is it still right?
  csf threshold scored.csv --target y --score p           the best threshold on scores you have
  csf compare train.csv --target churn --positive yes     is it worth it on your data?

csf search --help lists options, metrics and classifiers."""


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; ``None`` takes those of the process.

    Returns
    -------
    int
        Exit code: 0 for success, 2 for an error in the command or the data, 3 for an alarm of ``csf monitor``, 1 for
        any other error, 130 after Ctrl-C.

    Examples
    --------
    >>> main(["search", "iris:1", "--trials", "2", "--quiet"])
    0
    """
    argv = sys.argv[1:] if argv is None else argv
    if argv in ([], ["--version"]):
        # Before the parser, whose commands load all of csf.
        print(VERSION if argv else START)
        return 0

    from csf.cli.parser import make_parser, run_command

    return run_command(make_parser(), argv)
