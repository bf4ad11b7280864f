"""Kernel functions: how alike two rows are."""
