"""The verdict for people and for machines."""

from tg_conformance.report.terminal import print_verdict
from tg_conformance.report.write import write_report

__all__ = ["print_verdict", "write_report"]
