"""What a search found, as one page to show: ``search.report("report.html")`` and ``csf search --report``."""

from csf.report.checks import CHECKS, Finding, findings
from csf.report.comparison import Comparison, write_comparison
from csf.report.write import write_report

__all__ = ["CHECKS", "Comparison", "Finding", "findings", "write_comparison", "write_report"]
