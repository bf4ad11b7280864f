"""What an ensemble shows of its members.

Properties, not attributes: they would be stored and copied beside the members.
"""

from typing import Any

import numpy as np

from peckorder._core.typing import Floats, Ints
from peckorder.ordinal.kernel_base import KernelEstimator
from peckorder.ordinal.learners.ensemble import EnsembleLearner


class EnsembleEstimator(KernelEstimator):
    """An estimator whose learner has members."""

    def _members(self, name: str) -> Any:
        """Return the learner that holds the members, for an attribute."""
        if "_learner" not in vars(self):
            raise AttributeError(f"{self._who}: {name} exists once fitted.")
        return self._learner.members

    def _member_weights(self, name: str) -> Floats:
        members = self._members(name)
        if not (members is self._learner and isinstance(members, EnsembleLearner)):
            raise AttributeError(
                f"{self._who}: {name} exists once fitted with kernel='linear' and no "
                "budget."
            )
        return members.weights

    @property
    def member_coef_(self) -> Floats:
        """The members' weights."""
        return self._member_weights("member_coef_")[:, : self.n_features_in_]

    @property
    def member_intercept_(self) -> Floats:
        """The members' constants."""
        weights = self._member_weights("member_intercept_")
        if weights.shape[1] == self.n_features_in_:
            return np.zeros(len(weights))
        return weights[:, -1]

    @property
    def member_thresholds_(self) -> Floats:
        """The members' thresholds."""
        thresholds: Floats = self._members("member_thresholds_").thresholds
        return thresholds

    @property
    def votes_(self) -> Ints:
        """The rows that each member was offered and placed rightly."""
        votes: Ints = self._members("votes_").right
        return votes
