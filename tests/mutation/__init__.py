"""Mutation testing: small faults put into kbkit one at a time, to see which of them no test notices."""
