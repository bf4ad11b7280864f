"""The command `peckorder compare`."""
