"""What the sources promise about themselves."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import peckorder

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


def code_lines(path):
    """Count the lines of a file that do not belong to a docstring."""
    text = path.read_text()
    in_docstrings = set()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            docstring = node.body[0]
            in_docstrings |= set(range(docstring.lineno, docstring.end_lineno + 1))
    return len(text.splitlines()) - len(in_docstrings)


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_file_has_more_than_four_hundred_lines_of_code(path):
    assert code_lines(path) <= 400


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
