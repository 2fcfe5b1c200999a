"""Development scripts that write what ships: references, template queries, outputs of examples."""
