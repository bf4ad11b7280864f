"""How a kernel is compiled: said once, here."""

import sys
from collections.abc import Callable
from functools import cache as memoise
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., object])


# A part is never called from Python, and what is cached is the kernel around it.
_PART = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile `function` when it is first called and keep the result on disk.

    Where no cache folder is writable the function is compiled anew in every
    process instead: slower to start, otherwise the same. Division by zero gives an
    infinity or NaN, as in NumPy.
    """
    return _compile(function, cache=True)


def part(function: F) -> F:
    """Compile a short function into every kernel that calls it, as if written there.

    A product and the sum it goes into may be rounded once instead of twice.
    """
    return _compile(function, **_PART, fastmath={"contract"})


def exact_part(function: F) -> F:
    """Compile, as a part, what must give the same bits in every kernel around it.

    Products and sums are rounded one by one, as they are written.
    """
    return _compile(function, **_PART)


def sum_part(function: F) -> F:
    """Compile, as a part, a sum whose terms may be added in any order.

    The permission lets the compiler use vector instructions. NaN and infinities
    keep their meaning. The order is fixed when the kernel is compiled, so equal
    input gives equal bits on one machine.
    """
    return _compile(function, **_PART, fastmath={"reassoc", "contract"})


def _compile(function: F, **options: Any) -> F:
    # Kernels allocate nothing, so they need not count references to their arrays,
    # which would cost an atomic operation a row.
    options |= {"nogil": True, "error_model": "numpy", "_nrt": False}
    try:
        compiled = numba.njit(**options)(function)
    except RuntimeError as error:
        # Numba says so at decoration, in a RuntimeError of no class of its own.
        if "no locator available" not in str(error):
            raise
        compiled = numba.njit(**(options | {"cache": False}))(function)
    cache: Any = getattr(compiled, "_cache", None)
    if hasattr(cache, "_cache_file"):
        # Numba compiles a cached function anew when the function's own file changes;
        # its parts may live in other files, so any change in those must count.
        stamp = _stamp(Path(function.__code__.co_filename))
        cache._cache_file._source_stamp = stamp
        # An index of another version is not unpickled, which would fail if it names
        # a type (a named tuple) that has been renamed since.
        cache._cache_file._version = numba.__version__, stamp
    return cast(F, compiled)


@memoise
def _stamp(file: Path) -> tuple[tuple[str, int, int], ...]:
    """Return what changes when a file is edited that a function may be compiled from.

    These are the compiled functions of its own family and of the core: one family
    imports none of another, which the linter checks.
    """
    is_family = file.parent.name == "compiled"
    own = file.parent.glob("*.py") if is_family else [file]
    files = sorted({*own, *Path(__file__).parent.glob("*.py")})
    facts = [("/".join(file.parts[-3:]), file.stat()) for file in files]
    return tuple((name, fact.st_mtime_ns, fact.st_size) for name, fact in facts)


if config.DISABLE_JIT:  # type: ignore[attr-defined]
    _ONE_AT_A_TIME = Lock()

    def prefetch(array: Any, place: Any) -> None:
        """Do nothing: there is no processor cache to speak of without compilation."""

    def bits_of(value: float) -> int:
        """Return the 64 bits of a floating-point number, as an integer."""
        return int(np.float64(value).view(np.int64))

    def from_bits(bits: int) -> float:
        """Return the floating-point number that has these 64 bits."""
        return float(np.int64(bits).view(np.float64))

    def atomic_load(array: Any, place: int) -> Any:
        """Return ``array[place]``."""
        return array[place]

    def atomic_store(array: Any, place: int, value: int) -> None:
        """Set ``array[place]``."""
        array[place] = value

    def atomic_add(array: Any, place: int, value: int) -> Any:
        """Add to ``array[place]`` and return what it was."""
        with _ONE_AT_A_TIME:
            array[place] += value
            return array[place] - value

    def give_way() -> None:
        """Let another thread of Python go on."""
        sleep(0)

else:

    def _address(context: Any, builder: Any, kind: Any, array: Any, place: Any) -> Any:
        base = context.make_array(kind)(context, builder, array).data
        return builder.gep(base, [place])

    @intrinsic
    def atomic_load(typing_context: Any, array: Any, place: Any) -> Any:
        """Return ``array[place]``, as other threads have left it."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], *args)
            return builder.load_atomic(address, "seq_cst", 8)

        return types.int64(array, types.intp), generate

    @intrinsic
    def atomic_store(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
        """Set ``array[place]``, for other threads to see."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], *args[:2])
            builder.store_atomic(args[2], address, "seq_cst", 8)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.int64), generate

    @intrinsic
    def atomic_add(typing_context: Any, array: Any, place: Any, value: Any) -> Any:
        """Add to ``array[place]`` and return what it was, with no other in between."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            address = _address(context, builder, signature.args[0], *args[:2])
            return builder.atomic_rmw("add", address, args[2], "seq_cst")

        return types.int64(array, types.intp, types.int64), generate

    @intrinsic
    def give_way(typing_context: Any) -> Any:
        """Let another thread have the processor, where the system can be asked to."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if sys.platform != "win32":
                system = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                    builder.module, ir.FunctionType(ir.IntType(32), []), "sched_yield"
                )
                builder.call(system, [])
            return context.get_dummy_value()

        return types.void(), generate

    @intrinsic
    def bits_of(typing_context: Any, value: Any) -> Any:
        """Return the 64 bits of a floating-point number, as an integer."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], ir.IntType(64))

        return types.int64(types.float64), generate

    @intrinsic
    def from_bits(typing_context: Any, bits: Any) -> Any:
        """Return the floating-point number that has these 64 bits."""

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], ir.DoubleType())

        return types.float64(types.int64), generate

    @intrinsic
    def prefetch(typing_context: Any, array: Any, place: Any) -> Any:
        """Ask the processor to bring the cache line of ``array.flat[place]`` nearer.

        A hint that reads nothing; `array` is C-ordered and `place` within it.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array_type, place_type = signature.args
            base = context.make_array(array_type)(context, builder, args[0]).data
            offset = context.cast(builder, args[1], place_type, types.intp)
            address = builder.bitcast(builder.gep(base, [offset]), cgutils.voidptr_t)
            read, keep_in_all_levels, data = 0, 3, 1
            hint = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
                builder.module,
                ir.FunctionType(
                    ir.VoidType(), [cgutils.voidptr_t] + 3 * [cgutils.int32_t]
                ),
                "llvm.prefetch.p0",
            )
            options = [cgutils.int32_t(n) for n in (read, keep_in_all_levels, data)]
            builder.call(hint, [address, *options])
            return context.get_dummy_value()

        return types.void(array, place), generate
