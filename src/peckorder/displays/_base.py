"""What all pictures share: axes, options, the legend. Needs matplotlib."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self, TypeAlias

from peckorder._core.errors import entry, entry_named, refusal, requiring
from peckorder._core.validation import Rule, boolean, optional

# Axes and lines of matplotlib, which may not be installed.
Axes: TypeAlias = Any

_NAME = optional(Rule("a string", lambda value: isinstance(value, str)))
_AXES = optional(Rule("axes of matplotlib", lambda value: hasattr(value, "fill_between")))


@entry
class Display(ABC):
    """A picture that can be drawn, on axes of its own or of others."""

    _xscale: ClassVar[str] = "log"
    name: str | None
    line_: Any

    @abstractmethod
    def _draw(self, line: dict[str, object]) -> None:
        """Draw on `ax_`, the line by these options, and name the axes."""

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **line: Any) -> Self:
        """Draw the picture: a curve with its interval, if it has one, and all there is.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; None for new axes.
        name : str or None, default=None
            Another name for the legend; None for that of the display.
        **line
            Options of matplotlib's `plot`.

        Returns
        -------
        self
            With `ax_`, `figure_` and `line_`.
        """
        check_drawing(name, ax, line)
        self.ax_ = pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw({"label": self.name if name is None else name} | line)
        self.ax_.set_xscale(self._xscale)
        # Legends leave out labels that begin with an underscore.
        label = self.line_.get_label()
        if label and not label.startswith("_"):
            self.ax_.legend()
        return self


def check_drawing(name: object, ax: object, line: dict[str, object], draw: bool = True) -> None:
    """Refuse what cannot be drawn before anything is measured."""
    _NAME.check("name", name)
    _AXES.check("ax", ax)
    boolean.check("draw", draw)
    if draw:
        options = pyplot().Line2D
        line = {key: value for key, value in line.items() if not hasattr(options, f"set_{key}")}
    if line:
        rule = "those of matplotlib's plot" if draw else "none with draw=False"
        raise refusal("options", f"be {rule}", ", ".join(line), error=TypeError)


@entry_named("displays")
def pyplot() -> Axes:
    with requiring("matplotlib", "to draw", "'peckorder[plot]'"):
        from matplotlib import pyplot as found
    return found
