"""The command `peckorder data`."""
