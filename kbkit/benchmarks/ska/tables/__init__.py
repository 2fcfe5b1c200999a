"""The forms table and table+text: questions, positive units and noise from tables."""
