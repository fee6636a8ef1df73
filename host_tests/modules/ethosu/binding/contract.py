# SPDX-License-Identifier: MIT
"""ethosu.pyi as the module's single contract, and its check against a module on a board."""

import ast
from pathlib import Path

STUB = Path(__file__).resolve().parents[4] / "modules/ethosu/ethosu.pyi"

# Names that MicroPython's dir() lists of every module and class.
INTERNAL = {"__name__", "__bases__", "__init__", "__class__", "__del__", "__doc__", "__qualname__",
            "__dict__", "__module__", "__file__", "__getattr__"}  # fmt: skip
# Methods that dir() of a class in C omits because the class has slots for them.
SLOTS = {"__getitem__", "__len__", "__init__", "__call__"}

# Each class's object on the board.
OBJECTS = {"Model": "m", "Tensor": "m.inputs[0]", "NPU": "n", "PMU": "n.pmu()"}

WITHOUT_WAITING = {"reserve": {"timeout_ms": 0}}

_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def parse() -> ast.Module:
    """Parse the stub."""
    return ast.parse(STUB.read_text())


def classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    """Return the classes of a file by name."""
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def functions(body: list[ast.stmt]) -> list[_FUNCTION]:
    """Return the functions of a module or methods of a class."""
    return [node for node in body if isinstance(node, _FUNCTION)]


def variables(body: list[ast.stmt]) -> list[str]:
    """Return names that a body declares with a type."""
    return [node.target.id for node in body if isinstance(node, ast.AnnAssign)]


def documented(body: list[ast.stmt]) -> tuple[set[str], set[str]]:
    """Return names that a body declares, and which of these lack a docstring."""
    names, bare = set(), set()
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            name = node.target.id
            doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        elif isinstance(node, _FUNCTION | ast.ClassDef):
            name, doc = node.name, ast.get_docstring(node)
        else:
            continue
        names.add(name)
        if not doc:
            bare.add(name)
    return names, bare


def named_parameters(function: _FUNCTION) -> list[str]:
    """Return parameters that can be passed by name."""
    arguments = function.args
    return [each.arg for each in (*arguments.args, *arguments.kwonlyargs) if each.arg != "self"]


def entries(tree: ast.Module) -> dict[str, str]:
    """Return everything the stub promises, by name, with an expression that checks it.

    "npus" is a name of the module, "Model.run" a method, "Model.run(inputs)" a parameter that
    can be passed by name. The expression is True on a board whose module keeps the promise.
    """
    checks = {name: f"hasattr(ethosu, {name!r})" for name in documented(tree.body)[0]}
    for function in functions(tree.body):
        for name in named_parameters(function):
            # The only NPU is reserved, so a call that waits for it would not return.
            call = f"ethosu.{function.name}(**dict({WITHOUT_WAITING.get(function.name, {})}, **k))"
            checks[f"{function.name}({name})"] = f"takes(lambda **k: {call}, {name!r})"
    for kind, node in classes(tree).items():
        owner = OBJECTS[kind]
        for name in variables(node.body):
            checks[f"{kind}.{name}"] = f"hasattr({owner}, {name!r})"
        for method in functions(node.body):
            full = f"{kind}.{method.name}"
            if method.name == "__init__":
                target = f"ethosu.{kind}"
            elif method.name in SLOTS:
                continue  # test_values.py uses these
            else:
                target = f"{owner}.{method.name}"
                checks[full] = f"hasattr({owner}, {method.name!r})"
            for name in named_parameters(method):
                if method.name != "__exit__":
                    checks[f"{full}({name})"] = f"takes(lambda **k: {target}(**k), {name!r})"
    return checks


# takes(f, name) tells if f has this parameter, by passing a value that is invalid for all.
ON_BOARD = """
class Wrong: pass
def takes(function, name):
    try: function(**{name: Wrong()})
    except Exception as error: return 'keyword' not in str(error)
    return True
"""


# Both modules must give the same value, or exception type and errno, for these. The board has
# a model `m`, its input `x`, and `k`, which a `with` or deinit() has closed, with its
# tensor `t`.
CLOSED = """
with ethosu.Model(path) as k: t = k.inputs[0]
k.deinit()
def answer(code):
    try: return eval(code)
    except OSError as error: return error.errno
    except Exception as error: return type(error).__name__
"""
ALIKE = (
    *("bytes(m.predict(iter([x]))[0])", "bytes(m.predict(each for each in [x])[0])"),
    *("m.run_into(iter([x]), iter([y]))", "bytes(y)", "m.run_into((x,), (y,))"),
    *("m.predict([])", "m.predict([x, x])", "m.predict(x[:5])", "m.predict([x[:5]])"),
    *("m.predict(5)", "m.predict([None])", "m.predict([[1, 2]])"),
    *("m.run_into([x], [bytes(len(y))])",),
    *("m.run_into(None, iter([]))", "m.run_into([x], [x])", "m.missing", "t.missing"),
    *("k.predict([x])", "k.run_into([x])", "asyncio.run(k.run([x]))", "k.reset()", "k.cancel()"),
    *("k.info()", "k.inputs", "k.outputs", "k.input_shape", "k.output_scale", "k.ram", "k.labels"),
    *(
        "k.metadata()",
        "k.metadata('x')",
        "k.selftest()",
        "k.deinit()",
        "k.npu == m.npu",
        "k.len > 0",
    ),
    *("t.name", "t.shape", "t.dtype", "t.scale", "t.zero_point", "t.axis", "t.index"),
    *("len(t.data)", "t.quantize([0] * len(x))", "t.dequantize()", "k.__enter__().deinit()"),
)


def answers(board, path: str) -> dict[str, object]:
    """Evaluate ALIKE with a board's module `ethosu`; the model is also in the file `path`."""
    board.exec(f"import asyncio\npath = {path!r}\ny = bytearray(len(golden))\n{CLOSED}")
    return {code: board.eval(f"answer({code!r})") for code in ALIKE}


def broken(board, tree: ast.Module) -> set[str]:
    """Return entries of the stub that the board's module `ethosu` does not satisfy.

    The board has a model `m` and a reserved NPU `n`.
    """
    board.exec(ON_BOARD)
    wrong = set()
    for name, expression in entries(tree).items():
        out = board.exec(
            f"try: print({expression})\nexcept Exception as error: print(repr(error))"
        ).strip()
        if out != "True":
            wrong.add(name)
    return wrong
