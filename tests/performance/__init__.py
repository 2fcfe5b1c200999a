"""Measures what the README claims: ``python -m tests.performance [NAME]...``. Not part of the tests: nothing here fails."""
