"""The command `peckorder fit`."""
