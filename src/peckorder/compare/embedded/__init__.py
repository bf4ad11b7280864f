"""The comparison on embedded problems."""
