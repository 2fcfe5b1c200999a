"""The forms kg and kg+text: questions, positive units and noise from the graph of a KB."""
