"""The command `peckorder evaluate`."""
