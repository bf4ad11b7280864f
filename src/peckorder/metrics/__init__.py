"""How good an order is."""

from peckorder.metrics._ordinal import rank_loss, time_averaged_rank_loss

__all__ = ["rank_loss", "time_averaged_rank_loss"]
