"""Measures what the README claims: ``python -m tests.performance [NAME]...``. No test: nothing here fails."""
