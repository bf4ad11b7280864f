"""Tables of named columns: their roles, their preparation, and `TableRanker`."""
