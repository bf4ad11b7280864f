"""How functions are compiled, and the instructions that Numba has no name for."""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache as memoise
from pathlib import Path
from threading import Lock
from time import sleep
from typing import Any, TypeAlias, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import cgutils, config, types
from numba.core.cpu import CPUTargetOptions
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., object])
Options: TypeAlias = dict[str, Any]

# An inlined function is never called from Python, and has no cache entry of its own.
_INLINED: Options = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def compiled(function: F) -> F:
    """Compile `function` when it is first called and cache the result on disk.

    Where no cache folder is writable the function is compiled anew in every
    process instead: slower to start, otherwise the same. Division by zero gives an
    infinity or NaN, as in NumPy.
    """
    return _compile(function, {"cache": True, "no_cfunc_wrapper": True})


def inlined(function: F) -> F:
    """Compile a short function into every compiled function that calls it.

    A product and the sum it goes into may be rounded once instead of twice.
    """
    return _compile(function, _INLINED | {"fastmath": {"contract"}})


def inlined_exact(function: F) -> F:
    """Compile inline what must give the same bits in every function around it.

    Products and sums are rounded one by one, as they are written.
    """
    return _compile(function, _INLINED)


def inlined_sum(function: F) -> F:
    """Compile inline a sum whose terms may be added in any order.

    The permission lets the compiler use vector instructions. NaN and infinities
    keep their meaning. The order is fixed at compile time, so equal input gives equal
    bits on one machine.
    """
    return _compile(function, _INLINED | {"fastmath": {"reassoc", "contract"}})


def _compile(function: F, options: Options) -> F:
    options = options | {"nogil": True, "error_model": "numpy"}
    options |= uncounted_references()
    try:
        dispatcher = numba.njit(**options)(function)
    except RuntimeError as error:
        # Numba says so at decoration, in a RuntimeError of no class of its own.
        if "no locator available" not in str(error):
            raise
        dispatcher = numba.njit(**(options | {"cache": False}))(function)
    set_source_stamp(dispatcher, Path(function.__code__.co_filename))
    survive_cache(dispatcher)
    return cast(F, dispatcher)


def uncounted_references() -> Options:
    """Return the private option of Numba that switches reference counting off.

    Compiled functions allocate nothing, so they need not count references to their
    arrays, which would cost an atomic operation per row. A Numba without the option
    counts: slower, otherwise the same.
    """
    return {"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}


def survive_cache(dispatcher: object) -> bool:
    """Let a function be compiled in memory where its cache cannot be read or written.

    A file of the cache may be damaged, the disk full, or the folder read-only since
    the import: Numba would raise at the first call. What cannot be read is emptied, so
    that it is written anew. The methods are private ones of Numba: without them nothing
    is changed. Returns whether there were such methods.
    """
    files: Any = getattr(dispatcher, "_cache", None)
    if not all(hasattr(files, name) for name in ("load_overload", "save_overload", "flush")):
        return False
    load, save = files.load_overload, files.save_overload

    def load_overload(*arguments: Any) -> Any:
        try:
            return load(*arguments)
        except Exception:  # whatever pickle makes of damaged bytes
            with suppress(OSError):
                files.flush()
            return None

    def save_overload(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            with suppress(OSError):
                files.flush()

    files.load_overload, files.save_overload = load_overload, save_overload
    return True


def set_source_stamp(dispatcher: object, file: Path) -> bool:
    """Let Numba's cache notice changes in inlined functions of other files, too.

    Numba compiles a cached function anew when the function's own file changes. The
    stamp is a private attribute: a Numba without it keeps to its own file. Returns
    whether there was one to set.
    """
    cache = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if cache is None or not hasattr(cache, "_source_stamp"):
        return False
    cache._source_stamp = _stamp(file)
    # An index of another version is not unpickled, which would fail if it names a type
    # (a named tuple) that has been renamed since.
    cache._version = numba.__version__, cache._source_stamp
    return True


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
    _ATOMIC = Lock()

    def prefetch(array: Any, index: Any) -> None:
        """Do nothing: there is no processor cache to speak of without compilation."""

    def atomic_load(array: Any, index: int) -> Any:
        """Return ``array[index]``."""
        return array[index]

    def atomic_store(array: Any, index: int, value: int) -> None:
        """Set ``array[index]``."""
        array[index] = value

    def atomic_add(array: Any, index: int, value: int) -> Any:
        """Add to ``array[index]`` and return what it was."""
        with _ATOMIC:
            array[index] += value
            return array[index] - value

    def add_to_four(sums: Any, first: Any, bins: Any, terms: Any, of: Any) -> None:
        """Add a pair of `terms` (m, 2) to four pairs of `sums`."""
        for k in range(4):
            pair = int(first) + 256 * k + (int(bins) >> 8 * k) % 256
            sums.reshape(-1, 2)[pair] += terms.reshape(-1, 2)[of]

    def sched_yield() -> None:
        """Let another thread of Python run."""
        sleep(0)

else:
    # Numba and llvmlite check these when they compile.
    Type: TypeAlias = Any
    Context: TypeAlias = Any
    Intrinsic: TypeAlias = tuple[Type, Callable[..., object]]

    def _address(
        context: Context, builder: ir.IRBuilder, signature: Type, args: Sequence[Type]
    ) -> ir.Value:
        """Return the address of an element; the first arguments are array and index."""
        array, index = args[:2]
        base = context.make_array(signature.args[0])(context, builder, array).data
        return builder.gep(base, [index])

    def _call(builder: ir.IRBuilder, name: str, returns: ir.Type, args: Sequence[ir.Value]) -> None:
        """Call a function of the system or of LLVM."""
        signature = ir.FunctionType(returns, [arg.type for arg in args])
        function = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call]
            builder.module, signature, name
        )
        builder.call(function, args)

    @intrinsic
    def atomic_load(typing_context: Context, array: Type, index: Type) -> Intrinsic:
        """Return ``array[index]``, as other threads have left it."""
        return types.int64(array, types.intp), (
            lambda context, builder, signature, args: builder.load_atomic(
                _address(context, builder, signature, args), "seq_cst", 8
            )
        )

    @intrinsic
    def atomic_store(typing_context: Context, array: Type, index: Type, value: Type) -> Intrinsic:
        """Set ``array[index]``, for other threads to see."""

        def generate(
            context: Context, builder: ir.IRBuilder, signature: Type, args: list[Type]
        ) -> ir.Value:
            address = _address(context, builder, signature, args)
            builder.store_atomic(args[2], address, "seq_cst", 8)
            return context.get_dummy_value()

        return types.void(array, types.intp, types.int64), generate

    @intrinsic
    def atomic_add(typing_context: Context, array: Type, index: Type, value: Type) -> Intrinsic:
        """Add to ``array[index]`` and return what it was, with no other in between."""
        return types.int64(array, types.intp, types.int64), (
            lambda context, builder, signature, args: builder.atomic_rmw(
                "add", _address(context, builder, signature, args), args[2], "seq_cst"
            )
        )

    @intrinsic
    def sched_yield(typing_context: Context) -> Intrinsic:
        """Let another thread have the processor, where the system can be asked to."""

        def generate(
            context: Context, builder: ir.IRBuilder, signature: Type, args: list[Type]
        ) -> ir.Value:
            if sys.platform != "win32":
                _call(builder, "sched_yield", ir.IntType(32), [])
            return context.get_dummy_value()

        return types.void(), generate

    @intrinsic
    def prefetch(typing_context: Context, array: Type, index: Type) -> Intrinsic:
        """Ask the processor to bring the cache line of ``array.flat[index]`` nearer.

        A hint that reads nothing; `array` is C-ordered and `index` within it.
        """

        def generate(
            context: Context, builder: ir.IRBuilder, signature: Type, args: list[Type]
        ) -> ir.Value:
            offset = context.cast(builder, args[1], signature.args[1], types.intp)
            element = _address(context, builder, signature, [args[0], offset])
            address = builder.bitcast(element, cgutils.voidptr_t)
            read, keep_in_all_levels, data = 0, 3, 1
            options = [cgutils.int32_t(n) for n in (read, keep_in_all_levels, data)]
            _call(builder, "llvm.prefetch.p0", ir.VoidType(), [address, *options])
            return context.get_dummy_value()

        return types.void(array, index), generate

    @intrinsic
    def add_to_four(
        typing_context: Context, sums: Type, first: Type, bins: Type, terms: Type, of: Type
    ) -> Intrinsic:
        """Add a pair of `terms` (m, 2) to four pairs of `sums`.

        Both are 64-bit integers in C order. Pair k is number first + 256 k + byte k of
        the 32-bit integer `bins`, the lowest byte first. The two of a pair are
        added at once, and are read once for all four.
        """
        pair, wide = ir.VectorType(ir.IntType(64), 2), ir.IntType(64)

        def generate(
            context: Context, builder: ir.IRBuilder, signature: Type, args: list[Type]
        ) -> ir.Value:
            def pair_at(array: Type, data: ir.Value, index: ir.Value, kind: Type) -> ir.Value:
                base = context.make_array(array)(context, builder, data).data
                at = builder.mul(context.cast(builder, index, kind, types.intp), wide(2))
                return builder.bitcast(builder.gep(base, [at]), pair.as_pointer())

            term = builder.load(pair_at(terms, args[3], args[4], of), align=8)
            start = pair_at(sums, args[0], args[1], first)
            for k in range(4):
                shifted = builder.lshr(args[2], ir.IntType(32)(8 * k))
                byte = builder.zext(builder.and_(shifted, ir.IntType(32)(255)), wide)
                histogram = builder.gep(start, [wide(256 * k)])
                target = builder.gep(histogram, [byte])
                builder.store(builder.add(builder.load(target, align=8), term), target, align=8)
            return context.get_dummy_value()

        return types.void(sums, first, types.uint32, terms, of), generate
