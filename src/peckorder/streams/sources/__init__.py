"""Where a stream of rows comes from."""
