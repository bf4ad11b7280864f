"""The framework of experiments: parts, repetitions, journals, verdicts, reports."""
