"""The command `peckorder info`."""
