"""The command `peckorder explain`."""
