# SPDX-License-Identifier: MIT
"""Stock mpremote works on both consoles of the emulated board."""

import hashlib
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import firmware_image

MPREMOTE = [sys.executable, "-m", "mpremote"]
SIZE = 300_000
FILE_SIZE = 40_000


@pytest.fixture(scope="module", params=["fast", pytest.param("uart", marks=pytest.mark.slow)])
def machine(request, board_npu) -> Iterator[Machine]:
    with Machine(emulated(npu=board_npu, console=request.param)) as machine:
        yield machine


@pytest.fixture
def mpremote(machine):
    """Run mpremote with these arguments and return its output."""

    def run(*arguments: str | Path) -> str:
        command = [*MPREMOTE, "connect", machine.port, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_a_file_survives_a_round_trip(mpremote, tmp_path):
    """Files of many mpremote chunks (256 bytes) and disk blocks are copied unchanged."""
    there, back = tmp_path / "there", tmp_path / "back"
    there.write_bytes(random.Random(3).randbytes(FILE_SIZE))
    mpremote("fs", "cp", there, ":big")
    mpremote("fs", "cp", ":big", back)
    assert back.read_bytes() == there.read_bytes()
    assert f"{FILE_SIZE} big" in mpremote("fs", "ls")
    mpremote("fs", "rm", ":big")


def test_mount_runs_from_a_folder_of_the_host(mpremote, tmp_path):
    (tmp_path / "there.py").write_text("answer = 42\n")
    assert "42" in mpremote("mount", tmp_path, "exec", "import there; print(there.answer)")


def test_romfs_query_and_deploy(machine, mpremote, tmp_path):
    data = random.Random(4).randbytes(SIZE)
    (tmp_path / "module.py").write_text("where = __file__\n")
    (tmp_path / "weights.bin").write_bytes(data)
    assert f"size {machine.romfs.size} bytes" in mpremote("romfs", "query")
    if not firmware_image.of().writes_rom:
        with pytest.raises(AssertionError, match="ROM file system of this board is read-only"):
            mpremote("romfs", "deploy", tmp_path)
        return
    assert "image deployed" in mpremote("romfs", "deploy", tmp_path)
    mpremote("soft-reset")
    assert mpremote("exec", "import module; print(module.where)").startswith("/rom/module.")
    check = "b = memoryview(open('/rom/weights.bin', 'rb')); import hashlib, binascii; "
    check += "print(binascii.hexlify(hashlib.sha256(b).digest()).decode())"
    assert mpremote("exec", check).strip() == hashlib.sha256(data).hexdigest()


def test_romfs_query_reads_an_image_of_ours(board_npu):
    """`mpremote romfs query` finds the length of our images in their first twelve bytes."""
    image = romfs.build({"weights.bin": random.Random(5).randbytes(SIZE), "module.py": b"pass"})
    with Machine(emulated(npu=board_npu), romfs=image) as machine:
        command = [*MPREMOTE, "connect", machine.port, "romfs", "query"]
        done = subprocess.run(command, capture_output=True, text=True)
    head = 3 + 5  # magic and length
    assert f"ROMFS image size: {len(image) - head}\n" in done.stdout, done.stdout + done.stderr


def test_ctrl_c_stops_a_script(machine, mpremote, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import time\nprint('sleeping')\ntime.sleep(1000)\n")
    command = [*MPREMOTE, "connect", machine.port, "run", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"sleeping\r\n"
            process.send_signal(signal.SIGINT)
            assert process.wait() != 0
        finally:
            process.kill()
    assert mpremote("eval", "6 * 7") == "42\n"


def test_rtc_and_df(mpremote):
    mpremote("rtc", "--set")
    assert mpremote("rtc").startswith("(20")
    assert "/" in mpremote("df")
