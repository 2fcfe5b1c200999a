"""The command line: one file per group of commands. Commands parse, call and render; they hold no logic."""
