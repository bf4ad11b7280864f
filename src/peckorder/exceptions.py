"""The errors and warnings that are peckorder's own."""


class DataError(ValueError):
    """Data that no model can be learnt from, or that a fitted model cannot take."""


class MissingExtraError(ImportError):
    """A feature was asked for whose optional packages are not installed."""


class MissingDataError(FileNotFoundError):
    """A data set was asked for whose files are in none of the folders looked at."""


class ClusterError(RuntimeError):
    """A cluster cannot do what is asked of it: no workers, wrong ones, rows lost."""


class DownloadError(OSError):
    """A file could not be had from its publisher, or not whole, or it has changed."""


class ModelFileError(ValueError):
    """A file is no sound model file, or one of a format that is not known yet."""
