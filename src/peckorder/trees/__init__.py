"""Trees over binned columns, grown leaf by leaf on exact sums."""
