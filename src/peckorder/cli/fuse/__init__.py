"""The command `peckorder fuse`."""
