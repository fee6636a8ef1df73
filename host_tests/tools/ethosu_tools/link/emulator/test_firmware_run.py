# SPDX-License-Identifier: MIT
"""Third-party firmware runs on an emulated board, and its outcome is reported."""

import functools
import json
import subprocess
import sys
from pathlib import Path

import pytest
import serial
from ethosu_tools.base import paths
from ethosu_tools.base.errors import BoardError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import firmware_run
from ethosu_tools.link.emulator.emulator_log import KEPT, LEFT_OUT

from host_tests.kit import stand_ins
from host_tests.kit.newlib import newlib_program

# Steps of the program: it prints by UART only, then EOT, or EOT and a newline as the exit code.
UART, EOT = "silent uart:0,by-UART", "silent uart:0,by-UART^"
CODE = f"{EOT} uart:0, spin"
MACS = {"ethos-u55-128": 7, "ethos-u55-256": 8, "ethos-u65-512": 9}


@pytest.fixture(scope="module")
def image() -> Path:
    return newlib_program.build()


@pytest.mark.parametrize("npu", MACS)
def test_what_it_prints_and_its_exit_code(ethosu, image, npu):
    words = "--npu", npu, "--argument", f"{UART} npu exit:7"
    code, out, err = ethosu("qemu", "--firmware", image, *words)
    assert (code, err) == (7, "")
    assert "by-UART\n" in out and f"log2 of the MACs: {MACS[npu]}\n" in out
    assert out.endswith("ended with exit code 7\n")


@pytest.mark.parametrize("words", [[EOT], [f"{UART} uart:0,passed spin", "--until", "passed"]])
def test_a_text_ends_it(ethosu, image, words):
    code, out, _ = ethosu("qemu", "--firmware", image, "--json", "--argument", *words)
    assert code == 0 and "by-UART" in json.loads(out)["output"]


def test_a_byte_after_eot_is_the_exit_code(ethosu, image):
    code, out, _ = ethosu("qemu", "--firmware", image, "--json", "--argument", CODE)
    answer = json.loads(out)
    assert code == answer["exit_code"] == ord("\n") and "\x04" not in answer["output"]


@pytest.mark.parametrize(
    "printed", [[b"x pass", b"\x04\x09"], [b"x pass\x04\x09"], [b"x pa", b"ss\x04\x09"]]
)
def test_after_the_awaited_text_no_code_counts(printed, monkeypatch, image, tmp_path):
    """After the awaited text, an exit code after EOT does not count, however reads are split."""
    writes = "".join(f"os.write(1, {each!r}); time.sleep(0.2); " for each in printed)
    program = stand_ins.program(tmp_path / "qemu", f"import os, time\n{writes}\n")
    monkeypatch.setattr(firmware_run.qemu, "find_qemu", lambda: program)
    monkeypatch.setattr(firmware_run.qemu, "log_options", lambda program: ())
    assert firmware_run.run(emulated("MPS3_AN547", firmware=image), until="pass").exit_code == 0
    assert firmware_run.run(emulated("MPS3_AN547", firmware=image)).exit_code == 9


@pytest.mark.parametrize("way", [EOT, UART])
def test_exiting_without_the_awaited_text_is_an_error(ethosu, fails, image, way):
    words = "qemu", "--firmware", image, "--until", "all tests pass", "--argument"
    fails(*words, way, code=5, said="ended without 'all tests pass'; its last output: 'by-UART")
    assert ethosu(*words, "exit:7")[0] == 7, "its own exit code says more"


def test_it_has_a_time_out(ethosu, image):
    words = "--argument", "silent spin", "--timeout", "0.5"
    code, _, err = ethosu("qemu", "--firmware", image, *words)
    assert code == 5 and "did not end within 0.5 s; it printed nothing" in err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--vectors", "abc", "expected an address, such as 0x10000000, found 'abc'"),
        ("--vectors", "010", "expected an address, such as 0x10000000, found '010'"),
        ("--vectors", "-1", "expected an address, such as 0x10000000, found '-1'"),
        ("--vectors", "0x100000000", "expected an address, such as 0x10000000, found"),
        ("--timeout", "soon", "expected a number above 0, found 'soon'"),
        ("--timeout", "nan", "expected a number above 0, found 'nan'"),
        ("--timeout", "0", "expected a number above 0, found '0'"),
    ],
)
def test_values_that_are_none_are_refused(ethosu, image, option, value, message):
    """Missing values are refused in the user's terms, not in those of a function."""
    code, _, err = ethosu("qemu", "--firmware", image, f"{option}={value}")
    assert code == 2 and f"argument {option}: {message}" in err


def test_output_without_end_does_not_put_it_off(monkeypatch, image, tmp_path):
    lines = "for _ in range(300_000):\n    os.write(1, b'x' * 99)\n    os.write(2, b'y' * 999)\n"
    program = stand_ins.program(tmp_path / "qemu", f"import os\n{lines}")
    monkeypatch.setattr(firmware_run.qemu, "find_qemu", lambda: program)
    monkeypatch.setattr(firmware_run.qemu, "log_options", lambda program: ())
    with pytest.raises(BoardError, match=r"did not end within 0\.05 s; its last output: 'xx"):
        firmware_run.run(emulated("MPS3_AN547", firmware=image), until="never", timeout=0.05)


def test_its_stderr_is_not_lost(ethosu, fails, image):
    words = "qemu", "--firmware", image, "--timeout", "0.5", "--argument"
    fails(
        *words, "silent error:failed spin", code=5, said="it printed nothing; on stderr: 'failed'"
    )
    for way in ("uart:0,^", "uart:0,^ uart:0, spin", "exit:7", "spin"):
        steps = f"silent error:failed {way}"
        assert ethosu(*words, steps, "--until", "failed")[0] == 0, way


def test_options_for_our_own_firmware_only(fails, image, tmp_path):
    fails("qemu", "--firmware", image, "--romfs", tmp_path, code=2, said="--romfs")
    fails("qemu", "--until", "x", code=2, said="only for third-party firmware")


def test_an_image_of_ours_is_recognised(image):
    assert firmware_run.is_ours(paths.firmware("MPS3_AN547")) and not firmware_run.is_ours(image)


def test_fixture(firmware_run, image):
    """The plugin's fixture takes the arguments of `ethosu qemu`."""
    firmware_run = functools.partial(firmware_run, board="MPS3_AN547")
    done = firmware_run(str(image), arguments=["exit:7"])  # as on docs/fvp.md
    assert done.exit_code == 7 and "[exit:7]" in done.output
    with pytest.raises(BoardError, match="it printed nothing"):
        firmware_run(image, arguments=["silent", "spin"], timeout=0.5)


def test_its_uart_may_be_a_port(fails, image):
    """The UART may be a port, where a MicroPython at its prompt is not awaited."""
    words = "qemu", "--firmware", image, "--console", "uart"
    fails(*words, "--until", "x", code=2, said="leave out --console")
    command = [sys.executable, "-m", "ethosu_tools.cli", *words, "--argument", "await exit:7"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        first = process.stdout.readline()
        assert "is at /dev/pts/" in first
        with serial.Serial(first.split()[-1]) as port:
            port.write(b"x\n")
            err = process.stderr.read()
    assert process.returncode == 5
    assert "QEMU ended by itself (exit code 7)" in err and "[exit:7]" in err


def test_newlib_has_its_heap_and_only_the_files_of_a_folder(ethosu, image, tmp_path, monkeypatch):
    """newlib gets its heap, files of --semihosting or the working folder, and no commands.

    newlib's start-up asks semihosting for the heap, see tools/qemu_plugin/README.md.
    """
    work, other = tmp_path / "work", tmp_path / "other"
    for folder in (work, other):
        folder.mkdir()
        (folder / "in.txt").write_text(folder.name)
    monkeypatch.chdir(work)
    steps = [f"copy:{other}/in.txt,a", "copy:/etc/hostname,b", f"copy:in.txt,{other}/c"]
    (work / "steps").write_text("\n".join([*steps, "copy:in.txt,d", "call:run,18,@touch ran,9"]))
    words = "qemu", "--json", "--firmware", image, "--argument"
    code, out, _ = ethosu(*words, "script:steps")
    answer = json.loads(out)
    assert code == 0 and answer["output"].splitlines()[1:] == [
        f"copy: cannot open {other}/in.txt", "copy: cannot open /etc/hostname",
        f"copy: cannot open {other}/c", "copy: ok", "run: -1 1",
    ]  # fmt: skip
    assert f"semihosting: the file {other}/c is refused: it is not below" in answer["log"]
    assert sorted(path.name for path in work.iterdir()) == ["d", "in.txt", "steps"]
    assert [path.name for path in other.iterdir()] == ["in.txt"]
    more = "--argument=malloc:300000", "--argument=exit:6"
    code, out, _ = ethosu(*words, "copy:in.txt,e", *more, "--semihosting", other)
    assert code == 6 and "copy: ok\nmalloc: ok" in json.loads(out)["output"]
    assert (other / "e").read_text() == "OTHER5" and not (work / "e").exists()
    code, _, err = ethosu(*words, "exit:1", "--semihosting", "nowhere")
    assert code == 2 and "--semihosting: nowhere is no folder" in err


def test_without_semihosting_its_calls_are_faults(ethosu, fails, image):
    words = "qemu", "--firmware", image, "--no-semihosting"
    code, out, err = ethosu(*words)
    assert code == 5 and "Lockup" in err and image.name not in out
    fails(*words, "--argument", "exit", code=2, said="--argument needs semihosting")


def test_what_it_prints_and_provokes_is_kept_in_bounded_memory(
    ethosu, image, tmp_path, monkeypatch
):
    """Output and QEMU's log, with a line for each bad access, are kept in bounded memory."""
    monkeypatch.chdir(tmp_path)
    line = "x" * 7000
    (tmp_path / "steps").write_text("touch:41200098\n" * 50_000 + f"write:{line}\n" * 400)
    words = "qemu", "--firmware", image, "--argument", "script:steps"
    code, out, _ = ethosu(*words, "--json")
    answer = json.loads(out)
    assert code == 0
    for text in (answer["log"], answer["output"]):
        head, gap, tail = text.partition(LEFT_OUT)
        assert gap and 0 < len(head) < KEPT + 40 and 0 < len(tail) < KEPT + 40
    passed_on = ethosu(*words)[1]
    assert passed_on.count(line) == 400, "all of it"


def test_a_stopped_processor_is_reported(ethosu):
    """An image without vectors at the board's address stops the CPU, which is reported."""
    elsewhere = newlib_program.build(code_start=0x11000000)
    code, _, err = ethosu("qemu", "--firmware", elsewhere)
    assert code == 5 and "qemu: fatal: Lockup" in err and "d15=" not in err
