"""What makes an estimator one that can be saved."""

import os
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from peckorder._core.errors import entry, refusal
from peckorder._core.text_files import check_target
from peckorder._core.typing import PathLike
from peckorder._core.validation import Rules
from peckorder.storage.fields import Table
from peckorder.storage.format import to_bytes, write_file

# The classes that a model file may name. Each is here once its module is imported.
MODELS: dict[str, type["StoredModel"]] = {}


def inner_models() -> dict[str, type["StoredModel"]]:
    """Return the classes of models that the file of another model may hold."""
    inner = [name for name, model in MODELS.items() if model._may_be_inner]
    return {name: MODELS[name] for name in sorted(inner)}


@entry
class StoredModel:
    """An estimator that can be saved, and loaded by `peckorder.load`.

    `_stored_fields` of a subclass declares what it has learnt.
    """

    _rules: ClassVar[Rules]
    _stored_fields: ClassVar[Table]
    # Whether rows have features: then a file says how many.
    _has_features: ClassVar[bool] = True
    # Whether the file of another model may hold one of this class.
    _may_be_inner: ClassVar[bool] = True

    def __init_subclass__(cls, *, stored: bool = False, **options: Any) -> None:
        """Register a class with ``stored=True``, which a model file may name."""
        super().__init_subclass__(**options)
        if stored:
            MODELS[cls.__name__] = cls

    def save(self, path: PathLike) -> None:
        """Write the fitted model to a file, which `peckorder.load` reads.

        The file has the parameters, what was learnt and a checksum, and no code: it is
        safe to load from a stranger. What was loaded predicts the same to the bit, and
        goes on learning as this model would. Rows that `fit` was given are in it only
        where scores need them, as those of a kernel do: `MPRank.leave_pair_out_error`
        of a linear model, for instance, is refused after loading. The file is written
        whole or not at all.

        Parameters
        ----------
        path : path
            Where to; a file that is there is replaced.

        Raises
        ------
        TypeError
            If a parameter is a function, an object, or a `RandomState`: a file holds
            plain values only. Set `random_state` to None or an integer before.

        See Also
        --------
        peckorder.load : Reads the file.

        Examples
        --------
        >>> import peckorder, tempfile
        >>> model = peckorder.PRank(max_iter=9).fit([[0.0], [1.0]], [1, 2])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.peckorder")
        ...     peckorder.load(f"{folder}/model.peckorder").predict([[2.0]])
        array([2])
        """
        # Only now: it imports this module.
        from peckorder.storage.models import packed

        check_is_fitted(self)
        contents = packed(self)
        if not isinstance(path, str | os.PathLike):
            raise refusal("path", "be a path", repr(path), error=TypeError)
        check_target("path", path)
        write_file(path, contents)

    def to_bytes(self) -> bytes:
        """Return the bytes that `save` would write, for a database or a message.

        Returns
        -------
        data : bytes
            All of a model file; `peckorder.io.from_bytes` reads it.

        Raises
        ------
        TypeError
            For the same models as `save`.

        Examples
        --------
        >>> import peckorder.io
        >>> model = peckorder.PRank(max_iter=9).fit([[0.0], [1.0]], [1, 2])
        >>> peckorder.io.from_bytes(model.to_bytes()).predict([[2.0]])
        array([2])
        """
        from peckorder.storage.models import packed

        check_is_fitted(self)
        return to_bytes(packed(self))
