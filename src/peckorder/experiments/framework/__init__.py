"""What runs experiments: repetitions, journals, verdicts, reports."""
