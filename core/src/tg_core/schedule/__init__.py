"""Scheduling: a call's body becomes kernels and copies in order."""

from tg_core.schedule.schedule import schedule_body

__all__ = ["schedule_body"]
