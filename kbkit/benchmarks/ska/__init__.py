"""SKA-Bench: questions over triples, table rows and passages, with proved positive units and four testbeds."""
