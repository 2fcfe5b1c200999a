"""Draw queries that combine relations with requirements on texts and attributes, and find their answers.

A run has four stages (STaRK, section 2.4): ``relational`` draws templates and groundings, ``textual`` and ``choose``
find requirements that a gold answer meets, ``fuse`` and ``sentences`` word the query, and ``verify`` finds the
candidates that meet the requirements. STaRK and SKA-Bench generate their questions with it.
"""
