# SPDX-License-Identifier: MIT
"""Two NPUs: models run on both at the same time, and select theirs by index or name."""

import pytest
from ethosu_tools import boards
from ethosu_tools.board import QemuBoard
from ethosu_tools.qemu import Machine

NPUS = ("ethos-u55-256", "ethos-u55-128")


@pytest.fixture(scope="module")
def pair(request, compiled, small_models, example):
    if request.config.getoption("--ethosu-port"):
        pytest.skip("the emulated board alone can have two NPUs")
    _, x, y = example
    with QemuBoard(Machine(NPUS[0], npu1=NPUS[1], board=boards.DEFAULT)) as board:
        for index, npu in enumerate(NPUS):
            path = compiled(small_models["small_cnn"], npu)
            board.write_file(f"/{index}.tflite", path.read_bytes())
        board.exec(
            "import asyncio, ethosu, machine\n"
            f"x, golden = bytearray({x.tobytes()!r}), {y.tobytes()!r}\n"
            "models = [ethosu.Model('/%d.tflite' % i, npu=i, timeout_ms=50) for i in range(2)]"
        )
        yield board


def test_both_npus_are_listed(pair):
    assert pair.eval("ethosu.npus()") == list(NPUS)
    assert pair.eval("[m.npu for m in models]") == [0, 1]
    pair.exec(f"m = ethosu.Model('/1.tflite', npu={NPUS[1]!r})")
    assert pair.eval("m.npu") == 1
    assert pair.eval("bytes(m.predict([x])[0]) == golden")


def test_one_does_not_wait_for_the_other(pair):
    """NPU 0 hangs while NPU 1 keeps working."""
    pair.exec(
        "async def main():\n"
        "    machine.mem32[0xE000E184] = 1 << 24\n"
        "    stuck = asyncio.create_task(models[0].run([x]))\n"
        "    count = 0\n"
        "    while not stuck.done():\n"
        "        assert bytes((await models[1].run([x]))[0]) == golden\n"
        "        count += 1\n"
        "    machine.mem32[0xE000E104] = 1 << 24\n"
        "    try: await stuck\n"
        "    except OSError as error: return count, error.errno\n"
        "result = asyncio.run(main())"
    )
    count, number = pair.eval("result")
    assert (count > 3, number) == (True, 110)
    assert pair.eval("bytes(models[0].predict([x])[0]) == golden")


def test_many_inferences_on_both_npus(pair):
    pair.exec(
        "async def go(model):\n"
        "    for _ in range(20): assert bytes((await model.run([x]))[0]) == golden\n"
        "    return 20\n"
        "async def main(): return await asyncio.gather(*(go(m) for m in models))\n"
    )
    assert pair.eval("asyncio.run(main())") == [20, 20]
