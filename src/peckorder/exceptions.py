"""The errors and warnings that are peckorder's own."""


class DataError(ValueError):
    """Data that no model can be learnt from, or that a fitted model cannot take."""


class MissingExtraError(ImportError):
    """A feature was asked for whose optional packages are not installed."""
