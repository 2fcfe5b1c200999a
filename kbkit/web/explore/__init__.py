"""The explorer: pages for a person who reads a KB in a browser. One module per screen."""
