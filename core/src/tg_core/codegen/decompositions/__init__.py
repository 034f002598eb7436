"""Ops and dtypes that a target lacks, from those it has; one file each."""
