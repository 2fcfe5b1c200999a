"""Commands of the five papers: make, describe, run and score their datasets."""
