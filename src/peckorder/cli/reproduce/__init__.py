"""The command `peckorder reproduce`."""
