"""What the sources promise about themselves."""

import ast
import inspect
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

import peckorder
from peckorder import experiments

ROOT = Path(peckorder.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
EXTRAS = ["pandas", "polars", "pyarrow", "rich", "cyclopts", "jinja2", "matplotlib"]
EXTRAS += ["onnx", "onnxruntime"]


def name_of(path):
    return str(path.relative_to(ROOT))


def public_things():
    """Yield every public class and function with its dotted name."""
    for name in peckorder.__all__:
        thing = getattr(peckorder, name)
        if not inspect.ismodule(thing):
            yield name, thing
            continue
        for inner in thing.__all__:
            yield f"{name}.{inner}", getattr(thing, inner)


def public_methods():
    for name, thing in public_things():
        if inspect.isclass(thing) and thing.__module__.startswith("peckorder"):
            for method, function in inspect.getmembers(thing, callable):
                home = getattr(function, "__module__", None) or ""
                if method[0] != "_" and home.startswith("peckorder"):
                    yield f"{name}.{method}", function


THINGS = list(public_things())
METHODS = list(public_methods())


# Modules whose names users import, or type: commands of the shell, and papers that are
# found by their names. A module that one of them imports has a public name.
PUBLIC = {"peckorder", "peckorder.cli.app"} | {
    f"peckorder.{path.stem if path.is_file() else path.name}"
    for path in ROOT.iterdir()
    if path.suffix in ("", ".py") and not path.name.startswith("_")
    if path.stem not in ("boosting", "cli", "magnitude", "ordinal", "similarity")
    if path.stem not in ("storage", "tables")
}
PUBLIC |= {f"peckorder.experiments.{name.replace('-', '_')}" for name in experiments.NAMES}
# Never to be raised.
MOST_SINGLE_USERS = 20
INTERNAL = {"_core", "_base", "_version"}


@cache
def tree_of(path):
    return ast.parse(path.read_text())


def module_of(path):
    names = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(names).removesuffix(".__init__")


MODULES = {module_of(path): path for path in SOURCES}


def imports_of(path):
    """Return the modules of the package that a file imports, wherever it does."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return (found & MODULES.keys()) - {module_of(path)}


def code_lines(path):
    """Return how many lines a file has, without docstrings."""
    documented = set()
    for node in ast.walk(tree_of(path)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if is_text and isinstance(first.value.value, str):
            documented |= set(range(first.lineno, first.end_lineno + 1))
    return len(path.read_text().splitlines()) - len(documented)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_file_has_more_than_four_hundred_lines_of_code(path):
    assert code_lines(path) <= 400


def test_no_folder_has_more_than_fourteen_modules():
    folders = Counter(path.parent for path in SOURCES if path.name != "__init__.py")
    assert {name_of(path): n for path, n in folders.items() if n > 14} == {}


def test_few_modules_import_private_ones_of_another_package():
    private = set()
    for path in SOURCES:
        for imported in imports_of(path):
            names = imported.split(".")
            for i, name in enumerate(names[1:], start=1):
                owner = ".".join(names[:i])
                is_private = name.startswith("_") and name not in INTERNAL
                is_inside = f"{module_of(path)}.".startswith(f"{owner}.")
                if is_private and not name.startswith("__") and not is_inside:
                    private.add((module_of(path), imported))
    assert len(private) <= 20, sorted(private)


def parameters_of(function):
    arguments = function.args
    return len(arguments.posonlyargs + arguments.args + arguments.kwonlyargs)


def test_few_functions_have_many_parameters():
    wide = {
        f"{name_of(path)}: {node.name}": parameters_of(node)
        for path in SOURCES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef) and node.name != "__init__"
        if parameters_of(node) > 10
    }
    assert len(wide) <= 12, wide
    assert max(wide.values(), default=0) <= 16, wide


def test_few_modules_have_a_single_user_and_no_public_name():
    users = defaultdict(set)
    for path in SOURCES:
        for imported in imports_of(path):
            users[imported].add(module_of(path))
    lonely = [
        module
        for module, path in MODULES.items()
        if path.name not in ("__init__.py", "__main__.py") and module not in PUBLIC
        # Compiled functions must be in a folder of their own, whoever uses them.
        if path.parent.name != "compiled"
        if len(users[module]) < 2 and not users[module] & PUBLIC
    ]
    assert len(lonely) <= MOST_SINGLE_USERS, lonely


@pytest.mark.parametrize(("name", "thing"), THINGS, ids=[n for n, _ in THINGS])
def test_every_public_thing_has_an_example(name, thing):
    doc = inspect.getdoc(thing) or ""
    # A named tuple is a result; the function that returns it has the example.
    is_result = inspect.isclass(thing) and issubclass(thing, tuple)
    assert is_result or "\nExamples\n--------\n>>> " in doc


@pytest.mark.parametrize("name", peckorder.__all__)
def test_every_public_name_has_a_docstring(name):
    assert getattr(peckorder, name).__doc__


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[n for n, _ in METHODS])
def test_every_public_method_has_a_docstring(name, method):
    assert inspect.getdoc(method), name


def test_public_names_are_in_order():
    assert peckorder.__all__ == sorted(peckorder.__all__)


def run(program):
    """Run a program that finds the package where this one does."""
    start = f"import sys; sys.path.insert(0, {str(ROOT.parent)!r}); extras = {EXTRAS}\n"
    command = [sys.executable, "-c", start + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_loads_none_of_the_extras():
    # Scikit-learn loads pandas by itself where it is installed.
    program = """
import numba, scipy.sparse, sklearn.base
before = set(sys.modules)
import peckorder
print([name for name in extras if name in set(sys.modules) - before])
"""
    assert run(program) == "[]"


def test_the_package_works_without_the_extras():
    # Not by None in sys.modules, which scikit-learn takes for a pandas without frames.
    program = """
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in extras:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Missing())
import peckorder
print(peckorder.PRank().fit([[0.0], [1.0]], [1, 2]).n_rounds_)
"""
    assert run(program) == "2"
