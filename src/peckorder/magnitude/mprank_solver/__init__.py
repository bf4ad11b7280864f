"""How MPRank is solved, and what it predicts of pairs left out."""
