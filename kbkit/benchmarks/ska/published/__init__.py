"""Instances from published questions."""
