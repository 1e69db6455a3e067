"""Results of a search on one page: ``search.report("report.html")`` and ``csf search --report``."""

from csf.report.checks import CHECKS, Finding, Summary, ThresholdCheck, findings, summarise
from csf.report.page import Comparison, write_comparison, write_report

__all__ = [
    "CHECKS",
    "Comparison",
    "Finding",
    "Summary",
    "ThresholdCheck",
    "findings",
    "summarise",
    "write_comparison",
    "write_report",
]
