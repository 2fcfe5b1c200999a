"""A KB in a web server on the loopback: the SPARQL protocol."""
