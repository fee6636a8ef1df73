# SPDX-License-Identifier: MIT
"""The firmware reports the deepest use of its stacks, which leaves a margin."""

import zlib

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import firmware_image, found
from host_tests.kit.board_models import MODEL

# Free bytes of each stack at its deepest, where an interrupt may push 212 bytes.
MARGIN = 1024
# Finds the depth of a function that calls itself.
CALLS = 100

# deep(f, up) calls f at a depth that leaves only `up` more calls before the recursion limit.
# Classes, closures and generators recurse, too, each with other C functions in between.
DEEP = """
import asyncio, binascii, deflate, gc, hashlib, io, json, machine, os, random, re, struct, sys
def deep(f, up):
    try: r = deep(f, up)
    except RuntimeError: r = 0
    if r == up:
        try: f()
        except RuntimeError as error: assert error.args[0] == 'maximum recursion depth exceeded'
    return None if r is None or r == up else r + 1
def depth(n=0):
    try: return depth(n + 1)
    except RuntimeError: return n
class Odd:
    def __getattr__(self, name): return getattr(self, name + 'x')
    def __add__(self, other): return self + other
    def __iter__(self): return iter(self)
    def __hash__(self): return hash(self)
    def __str__(self): return str(self)
    def __lt__(self, other): return sorted([self, other]) < other
    def __del__(self): pass
def chain(): yield from chain()
def nested(count):
    top = []
    for _ in range(count): top = [top]
    return top
async def wait(): await wait()
def fails(f):
    try: f()
    except Exception as error: sys.print_exception(error, io.StringIO())
def write():
    with open('/deep', 'w') as file: file.write('x' * 5000)
    os.rename('/deep', '/deeper')
    os.remove('/deeper')
def unpack(): return deflate.DeflateIO(io.BytesIO(packed), deflate.ZLIB).read()
"""

CASES = {
    "attribute": "Odd().a",
    "operator": "Odd() + 1",
    "iterator": "list(Odd())",
    "hash": "{Odd(): 1}",
    "text": "str(Odd())",
    "sort": "sorted([Odd(), Odd()])",
    "generator": "list(chain())",
    "await": "asyncio.run(wait())",
    "print": "repr(nested(5000))",
    "compare": "nested(5000) == nested(5000)",
    "json": "json.dumps(nested(5000))",
    "json.loads": "json.loads('[' * 2000 + ']' * 2000)",
    "compile": "exec('(' * 300 + '1' + ')' * 300)",
    "blocks": "exec(''.join(' ' * n + 'if 1:\\n' for n in range(90)) + ' ' * 90 + 'pass')",
    "re": "re.match('(a|b)*' * 3 + 'c', 'ab' * 2000)",
    "files": "write()",
    "folder": "os.listdir('/')",
    "import": "__import__('nothing_of_this_name')",
    "decimals": "'{:.17e} {}'.format(1 / 3, 7 ** 900)",
    "power": "pow(3, 7 ** 60, 11 ** 60)",
    "deflate": "unpack()",
    "hash sum": "hashlib.sha256(bytes(1000)).digest()",
    "heap": "gc.collect()",
    "traceback": "1 / 0",
    "Model": f"ethosu.Model({MODEL!r}).predict([bytes(768)])",
    **{
        name: code.format(MODEL)
        for each in found.modules("board_rows")
        for name, code in each.DEEP.items()
    },
}


@pytest.fixture(scope="module")
def own(emulator_only, board_npu, compiled, small_models):
    """Return a board whose stacks no other test has used."""
    with QemuBoard(Machine(emulated(npu=board_npu))) as board:
        board.write_file(MODEL, compiled(small_models["small_cnn"], board_npu).read_bytes())
        packed = zlib.compress(bytes(range(256)) * 20)
        board.exec(f"import ethosu\npacked = {packed!r}\n" + DEEP)
        for each in found.modules("board_rows"):
            board.exec(each.SETUP)
        assert board.eval("len(unpack())") == 256 * 20
        yield board


def test_sizes_are_those_of_the_image(own):
    image = firmware_image.of()
    sizes = [
        image.symbol(f"{name}_top") - image.symbol(f"{name}_limit")
        for name in ("_stack", "_handler_stack")
    ]
    assert own.eval("[size for used, size in machine.stacks()]") == sizes
    assert own.eval("all(0 < used < size for used, size in machine.stacks())")


def test_a_deeper_call_is_seen(own):
    own.exec("def down(n): return n and down(n - 1)\nbefore = machine.stacks()[0][0]\ndown(40)")
    deeper = own.eval("machine.stacks()[0][0] - before")
    assert deeper > 40 * 64
    own.exec("down(20)")
    assert own.eval("machine.stacks()[0][0] - before") == deeper


def test_a_function_can_call_itself_often(own, record_property):
    depth = own.eval("depth()")
    record_property("calls", depth)
    print(f"{depth} calls of a function by itself, stacks {own.eval('machine.stacks()')}")
    assert depth >= CALLS


@pytest.mark.parametrize("case", CASES)
def test_the_limit_of_recursion_leaves_a_margin(own, record_property, case):
    """At any depth, a call raises an exception before the stack overflows."""
    own.exec(
        f"def case(): fails(lambda: {CASES[case]})\n"
        "for up in range(6):\n"
        "    deep(case, up)\n"
        "    deep(lambda: list(map(lambda _: case(), [0])), up)\n"
        "    deep(lambda: sorted([0], key=lambda _: case()), up)\n"
    )
    own.exec("gc.collect()")
    for name, (used, size) in zip(("main", "handler"), own.eval("machine.stacks()"), strict=True):
        record_property(name, used)
        print(f"{name} stack: {used} of {size}")
        assert used + MARGIN <= size
