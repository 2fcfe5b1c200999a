"""Notebooks: ``%load_ext kbkit`` gives the line and cell magic ``%kb``."""
