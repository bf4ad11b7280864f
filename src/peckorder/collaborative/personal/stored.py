"""What makes a personal ranker one that can be saved."""

from typing import TYPE_CHECKING, Any

from peckorder.storage.mixin import StoredModel

if TYPE_CHECKING:
    from peckorder.storage.format import Node


class StoredPersonal(StoredModel):
    """A personal ranker that can be saved, with all ratings it was given."""

    _may_be_inner = False

    def _state(self) -> dict[str, Any]:
        from peckorder.collaborative.personal.storage import personal_state

        return personal_state(self)

    def _restore(self, node: "Node") -> None:
        from peckorder.collaborative.personal.storage import restore_personal

        restore_personal(self, node)
