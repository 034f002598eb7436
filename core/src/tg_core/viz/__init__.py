"""Seeing every rewrite: what was recorded becomes plain data, lines of text and one HTML file.

Import from the modules: `at_exit` is loaded before anything else of the library and needs none of
the others until the end.
"""
