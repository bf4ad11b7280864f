"""How SVRank is minimised."""
