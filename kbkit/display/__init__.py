"""Rows, charts, drawings, progress and pages on a screen or in a file."""
