"""The logic of one prompt for shell, notebook and web: languages, commands, execution, completion. No UI."""
