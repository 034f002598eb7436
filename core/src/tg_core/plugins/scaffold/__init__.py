"""A new backend package from templates: works as generated, on an emulated interface."""

from tg_core.plugins.scaffold.write import ScaffoldNames, scaffold_files, write_backend

__all__ = ["ScaffoldNames", "scaffold_files", "write_backend"]
