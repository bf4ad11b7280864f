"""Cross-validation of candidates on the data of a file."""
