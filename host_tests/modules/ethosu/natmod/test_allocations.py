# SPDX-License-Identifier: MIT
"""The native module survives failed allocations, tested as those of the built-in one."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import firmware_image
from host_tests.kit.board_models import put
from host_tests.modules.ethosu.binding.test_allocations import SWEEP, check, image  # noqa: F401
from host_tests.modules.ethosu.natmod.native_board import build, imports

SETUP = """
asyncio.get_event_loop().set_exception_handler(lambda loop, context: None)
file, y = open('/m', 'rb').read(), bytearray(len(golden))
m, arena = ethosu.Model(file), ethosu.buffer(8192)
payload = b'COP1\\5\\0\\0\\0\\5\\0\\0\\0\\2\\0\\1\\0\\0\\0\\xff\\xff'
facts = m.info()
def same(outputs): return [bytes(each) for each in outputs] == [golden]
async def again():
    try: await m.run([x])
    except (MemoryError, KeyboardInterrupt): pass
    mem32[counted + 4] = NEVER
    return same(await asyncio.create_task(m.run([x]))) and same(await m.run([x]))
def reserved(work):
    with ethosu.reserve(timeout_ms=0) as n: return work(n)
"""

CALLS = [
    "same(ethosu.Model('/m').predict([x]))",
    "same(ethosu.Model(file, arena=arena).predict([x]))",
    "[m.__enter__().deinit() for m in [ethosu.Model(file)]] == [None]",
    "same(m.predict([x]))",
    "len(m.predict([x], real=True)[0]) == len(golden)",
    "m.run_into([x], [y]) is None and bytes(y) == golden",
    "same(asyncio.run(m.run([x])))",
    "asyncio.run(again())",
    "m.info() == facts and repr(m) is not None",
    "m.inputs[0].quantize([0.5] * len(x), bytearray(x)) is not None",
    "reserved(lambda n: n.invoke(payload, [y]) is None)",
    "reserved(lambda n: n.invoke_async(payload, [y]) is None and n.wait())",
    "reserved(lambda n: asyncio.run(n.run(payload, [y])) is None)",
    "reserved(lambda n: n.info()['config'] == facts['config'])",
]


@pytest.fixture(scope="module")
def starved(image, board_npu, compiled, small_models, example):  # noqa: F811
    """Return a board with the native module, in an image with allocations.c."""
    counted = firmware_image.Image(image).symbol("allocations")
    with QemuBoard(Machine(emulated(npu=board_npu, firmware=image))) as board:
        board.write_file("/native.mpy", (build() / "ethosu.mpy").read_bytes())
        board.write_file("/m", compiled(small_models["small_cnn"], board_npu).read_bytes())
        put(board, example)
        board.exec(f"{imports()}\ncounted = {counted}\n{SWEEP}{SETUP}")
        yield board


@pytest.mark.parametrize("call", CALLS)
def test_after_a_failure_at_any_allocation_the_next_call_is_right(starved, call):
    check(starved, call)
