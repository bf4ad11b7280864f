"""The command `peckorder rank`."""
