"""What all other packages stand on: types, threads, file locks, errors, text."""
