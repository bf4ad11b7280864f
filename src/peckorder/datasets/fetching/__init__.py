"""Where published files come from, and how they are checked."""
