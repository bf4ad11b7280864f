"""Options that all commands have."""

from typing import Annotated, TypeAlias

from cyclopts import Parameter

AsJson: TypeAlias = Annotated[bool, Parameter(name="--json", negative="")]
Quiet: TypeAlias = Annotated[bool, Parameter(negative="")]
