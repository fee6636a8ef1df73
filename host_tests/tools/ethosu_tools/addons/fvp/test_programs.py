# SPDX-License-Identifier: MIT
"""The programs with the FVPs' names run firmware as scripts start them."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from ethosu_tools.addons.fvp.models import MODELS
from ethosu_tools.addons.fvp.simulate import main
from ethosu_tools.base import paths
from ethosu_tools.link.board import Board

from host_tests.kit.newlib import newlib_program
from host_tests.kit.process.processes import wait_for_end

U55, U65 = "FVP_Corstone_SSE-300_Ethos-U55", "FVP_Corstone_SSE-300_Ethos-U65"
LINE = "cpu0.semihosting-cmd_line"
STOPPED = "\nInfo: /OSCI/SystemC: Simulation stopped by user.\n"


@pytest.fixture(scope="module")
def image() -> Path:
    return newlib_program.build()


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Return the folder of the programs, as `ethosu fvp install` writes it."""
    folder = tmp_path_factory.mktemp("a folder")
    command = [sys.executable, "-m", "ethosu_tools.cli", "fvp", "install", folder]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


@pytest.fixture
def started_fvp(programs, tmp_path):
    """Run a program in a folder of its own, with `steps` for the image."""

    def run(*words, steps="", name=U55):
        line = ["-C", f"{LINE}=prog {steps}"] if steps else []
        command = [programs / name, *words, *line]
        return subprocess.run(
            [*map(str, command)], capture_output=True, text=True, cwd=tmp_path, timeout=300
        )

    return run


@pytest.fixture
def fvp(tmp_path, capsys, monkeypatch):
    """Run a program in this process."""
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)

    def run(*words, steps="", name=U55):
        line = ["-C", f"{LINE}=prog {steps}"] if steps else []
        code = main(name, [*map(str, words), *line])
        return subprocess.CompletedProcess(words, code, *capsys.readouterr())

    yield run
    signal.signal(signal.SIGTERM, before)


def report(done) -> str:
    """Return what a program printed before its end; it must print nothing on stderr."""
    assert (done.returncode, done.stderr) == (0, ""), done
    head, stopped, _ = done.stdout.partition(STOPPED)
    assert stopped, done
    return head


def script(template: str, **values) -> list[str]:
    """Split a script's command line into words."""
    return shlex.split(template.format(**values))


def test_as_executorch_tests_it(started_fvp, image, tmp_path):
    """run_corstone of ExecuTorch's runner_utils.py works, whose values contain quotes."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "i0.bin").write_bytes(b"abc")
    line = "prog copy:i0.bin,out-0.bin malloc:300000"
    words = script(
        "-C ethosu.num_macs=256 -C mps3_board.visualisation.disable-visualisation=1 "
        "-C mps3_board.telnetterminal0.start_telnet=0 -C \"mps3_board.uart0.out_file='-'\" "
        "-C cpu0.semihosting-enable=1 -C cpu0.semihosting-stack_base=0 "
        "-C cpu0.semihosting-heap_limit=0 -C cpu0.semihosting-cwd={run} "
        "-C \"ethosu.extra_args='--fast'\" -C \"{name}='{line}'\" -a {image} --timelimit 120",
        run=run, name=LINE, line=line, image=image,
    )  # fmt: skip
    said = report(started_fvp(*words, name=U65))
    assert said.startswith("prog: [copy:i0.bin,out-0.bin] [malloc:300000]\ncopy: ok\nmalloc: ok")
    assert (run / "out-0.bin").read_bytes() == b"ABC3"


def test_as_executorch_runs_it(started_fvp, image, tmp_path):
    """ExecuTorch's run_fvp.sh works, and finds the sentence about the limit in the log."""
    (tmp_path / "model.pte").write_bytes(b"\x11\x22\x33\x44")
    words = script(
        "-C ethosu.num_macs=128 -C mps3_board.visualisation.disable-visualisation=1 "
        "-C mps3_board.telnetterminal0.start_telnet=0 -C mps3_board.uart0.out_file='-' "
        "-C mps3_board.uart0.shutdown_on_eot=1 -a {image} --data model.pte@0x70000000 "
        "--timelimit 0.5",
        image=image,
    )  # fmt: skip
    said = report(started_fvp(*words, steps="peek:70000000 uart:0,done^ spin"))
    assert said == "prog: [peek:70000000] [uart:0,done^] [spin]\npeek 70000000: 44332211\ndone"
    said = report(started_fvp(*words, steps="spin"))
    assert said == (
        "prog: [spin]\n\nInfo: Simulation is stopping. Reason: CPU time has been exceeded.\n"
    )


def test_as_tensorflow_lite_micro_tests_it(started_fvp, image):
    """TFLM's test_with_arm_corstone_300.sh works: the image alone, double quotes, statistics."""
    words = script(
        "-C ethosu.num_macs=256 -C mps3_board.visualisation.disable-visualisation=1 "
        "-C mps3_board.telnetterminal0.start_telnet=0 -C 'mps3_board.uart0.out_file=\"-\"' "
        "-C mps3_board.uart0.unbuffered_output=1 -C mps3_board.uart0.shutdown_on_eot=1 "
        "--stat {image}",
        image=image,
    )  # fmt: skip
    done = started_fvp(*words, steps="npu uart:0,~~~ALL^ spin")
    assert report(done).endswith("log2 of the MACs: 8\n~~~ALL")
    for name in ("Simulated time", "User time", "System time", "Wall time"):
        assert re.search(rf"^{name} +: +\d+\.\d+s$", done.stdout, re.MULTILINE)


def test_as_zephyr_runs_it(started_fvp, image):
    """Zephyr's board.cmake and armfvp.cmake work, which require a version of 11."""
    done = started_fvp("--version")
    assert done.returncode == 0 and re.search(r"\d+\.\d+\.\d+", done.stdout)[0].startswith("11.")
    assert len(done.stdout.splitlines()) == 1
    words = ["-C", "mps3_board.visualisation.disable-visualisation=1"]
    for n in range(3):
        words += ["-C", f"mps3_board.uart{n}.out_file=-", "-C"]
        words += [f"mps3_board.uart{n}.unbuffered_output=1", "-C"]
        words += [f"mps3_board.telnetterminal{n}.start_telnet=0"]
    said = report(
        started_fvp(*words, "-a", image, steps="uart:2,two uart:1,one uart:0,zero uart:5,five")
    )
    assert said.splitlines()[1:] == ["two", "one", "zero"]


@pytest.mark.parametrize(
    ("steps", "words", "code"),
    [
        ("uart:0,end^ spin", ["-C", "mps3_board.uart0.shutdown_on_eot=1"], 0),
        ("exit:3", [], 3),
        ("spin", ["--timelimit", "1"], 0),
        ("flood:0,text", ["--timelimit", "1"], 0),
    ],
)
def test_as_the_evaluation_kit_loads_a_model(fvp, image, tmp_path, steps, words, code):
    """inference_runner.md works: a model and its input are loaded, the output is dumped."""
    (tmp_path / "model.tflite").write_bytes(b"TFL3")
    (tmp_path / "ifm.bin").write_bytes(b"\x11\x22\x33\x44" * 2)
    line = script(
        "-a {image} --data {folder}/model.tflite@0x90000000 --data {folder}/ifm.bin@0x92000000 "
        "--dump cpu0={folder}/output.bin@Memory:0x92ffffff,1024 --dump is=ram.bin@0x311ffffc,8",
        image=image, folder=tmp_path,
    )  # fmt: skip
    steps = f"peek:90000000 peek:92000004 touch:93000000 touch:21200000 touch:211ffffc {steps}"
    done = fvp(*line, *words, steps=steps)
    assert (done.returncode, done.stderr) == (code, "")
    assert "peek 90000000: 334c4654\npeek 92000004: 44332211" in done.stdout
    expected = b"\0" + (0x93000000).to_bytes(4, "little")
    assert (tmp_path / "output.bin").read_bytes() == expected.ljust(1024, b"\0")
    ends_of_banks = (tmp_path / "ram.bin").read_bytes()
    assert ends_of_banks == b"".join(n.to_bytes(4, "little") for n in (0x211FFFFC, 0x21200000))


def test_a_dump_that_cannot_be_written(fvp, image):
    """A dump to a full disk, or of an emulator that ends in an error, is reported.

    Without semihosting, its call is a breakpoint, which locks up as there is no handler yet.
    """
    full = "--dump", "/dev/full@0x60000000,4"
    done = fvp(image, *full, steps="exit:3")
    assert done.returncode == 3
    assert done.stderr == (
        "ethosu: the 4 bytes from 0x60000000 on cannot be dumped: No space left on device\n"
    )
    words = "-C", "cpu0.semihosting-enable=0", "--dump", "out.bin@0x60000000,4"
    done = fvp(image, *words)
    assert done.returncode == 1 and "error: QEMU ended" in done.stderr


@contextmanager
def started(programs, *words):
    """Start a program, and wait for the port of its terminal."""
    command = [str(word) for word in (programs / U55, *words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        try:
            line = process.stdout.readline()
            match = re.fullmatch(
                r"telnetterminal0: Listening for serial connection on port (\d+)\n", line
            )
            assert match, line
            yield process, int(match[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


class Emulator:
    """The emulator of a program, for time-outs in the emulator's time."""

    def __init__(self, process):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        self.poll = process.poll
        while not (started := [pid for pid in children.read_text().split() if _is_run(pid)]):
            time.sleep(0.05)
        self.pid = int(started[0])


def _is_run(pid: str) -> bool:
    """Whether this QEMU runs firmware, and not only prints its version."""
    try:
        return b"-plugin" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_as_openmv_runs_it(programs, image, tmp_path):
    """OpenMV's port_config.mk works: mpremote opens MicroPython's prompt at a TCP port."""
    (tmp_path / "romfs0.img").write_bytes(b"rom")
    words = script(
        "-C cpu0.CFGITCMSZ=14 -C cpu0.semihosting-enable=1 -C mps3_board.FPGA_SRAM_SIZE=8 "
        "-C mps3_board.sse300.NUMVMBANK=2 -C mps3_board.sse300.VM_BANK_SIZE=4096 "
        "-C ethosu.num_macs=256 -C mps3_board.uart0.unbuffered_output=1 "
        "-C mps3_board.uart0.rx_overrun_mode=1 -C mps3_board.telnetterminal0.start_telnet=1 "
        "-C mps3_board.telnetterminal0.start_port=5555 -C mps3_board.telnetterminal0.mode=raw "
        "-C mps3_board.telnetterminal1.start_telnet=0 -C mps3_board.telnetterminal2.start_telnet=0 "
        "-C mps3_board.telnetterminal5.start_telnet=0 "
        "-C mps3_board.visualisation.disable-visualisation=1 --stat "
        "--data {romfs}@0x28000000 -a {image}",
        romfs=tmp_path / "romfs0.img", image=paths.firmware("MPS3_AN547"),
    )  # fmt: skip
    with (
        started(programs, *words) as (process, port),
        Board(f"socket://127.0.0.1:{port}", process=Emulator(process)) as board,
    ):
        assert board.eval("6 * 7") == 42
        facts = "import ethosu, machine\n_answer = [machine.mem32[0x28000000], ethosu.npus()]"
        word, npus = board.ask(facts)
        assert word == int.from_bytes(b"rom", "little") and npus == ["ethos-u55-256"]


def test_a_port_in_use_and_telnet(programs, image):
    """If a port is in use, the next free one is; telnet clients are asked to send characters."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        words = "-C", f"mps3_board.telnetterminal0.start_port={port}", "-a", image
        line = f"{LINE}=prog echo exit:4"
        with started(programs, *words, "-C", line) as (process, found):
            assert found > port
            with socket.create_connection(("127.0.0.1", found)) as client:
                client.sendall(b"abc\n")
                received = b""
                while not received.endswith(b"bcd\n"):
                    received += client.recv(100)
                assert received.startswith(b"\xff"), "telnet's IAC"
            assert process.wait(60) == 4


def test_output_files_and_the_end(fvp, image, tmp_path):
    """UARTs write to files; only one with shutdown_on_eot or a tag ends the run."""
    words = ["-C", "mps3_board.uart0.out_file=zero.txt", "-C", "mps3_board.uart1.out_file=one.txt"]
    words += ["-C", "mps3_board.uart1.shutdown_on_eot=1", "-a", image]
    done = fvp(*words, steps="uart:0,a^ uart:1,b^c spin")
    assert report(done) == "prog: [uart:0,a^] [uart:1,b^c] [spin]\n"
    assert (tmp_path / "zero.txt").read_bytes() == b"a\x04"
    assert (tmp_path / "one.txt").read_bytes() == b"b"
    (tmp_path / "config.txt").write_text(f"{LINE}='prog uart:5,EXITTHESIM spin'  # steps\n")
    words = "-C", "mps3_board.uart5.shutdown_tag=EXITTHESIM", "-a", image, "-q"
    done = fvp("-f", "config.txt", *words)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "prog: [uart:5,EXITTHESIM] [spin]\n", "quiet"


def test_uart_0_is_on_stdout_unless_something_says_where(fvp, image):
    assert report(fvp(image, steps="uart:0,zero uart:1,one")).endswith("\nzero\n")
    without = "-C", "mps3_board.telnetterminal0.start_telnet=0", image
    assert report(fvp(*without, steps="uart:0,zero")) == "prog: [uart:0,zero]\n"


def test_limits_of_time(fvp, image):
    for words in (["--simlimit", "1"], ["--cyclelimit", "32e6"]):
        done = fvp(image, *words, steps="spin")
        assert done.returncode == 0
        assert "\nInfo: Simulation is stopping. Reason: Simulated time has been exceeded.\n" in (
            done.stdout
        )
    assert done.stderr == f"{U55}: warning: --cyclelimit counts time at 32 MHz\n"


def test_exit_code_and_stderr(fvp, image):
    """The exit code is passed on, and stderr is on stdout, where run_corstone searches it."""
    done = fvp(image, steps="error:bad write:good error:worse exit:7")
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout.partition(STOPPED)[0].endswith("]\nbad\ngood\nworse\n")


def test_unknown_parameters(fvp, image):
    words = image, "-C", "mps3_board.uart0.outfile=-"
    sentence = (
        "unknown parameter mps3_board.uart0.outfile; the nearest known one is "
        "mps3_board.uart0.out_file\n"
    )
    done = fvp(*words, steps="exit:3")
    assert (done.returncode, done.stderr) == (3, f"{U55}: warning: {sentence}")
    done = fvp(*words, "--strict", steps="exit:3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{U55}: error: {sentence}"


def test_what_is_not_modelled_is_said(fvp, image):
    words = ["-C", "ethosu.extra_args=--pmu-trace=x", "-C", "mps3_board.smsc_91c111.enabled=1"]
    done = fvp(*words, "--plugin", "x.so", image, steps="exit:3")
    assert done.returncode == 3
    assert [line.partition("warning: ")[2] for line in done.stderr.splitlines()] == [
        "--plugin has no effect: there are no plug-ins",
        "mps3_board.smsc_91c111.enabled=1 has no effect: there is no network",
        "ethosu.extra_args: --pmu-trace=x has no effect",
    ]


def test_a_long_command_line_is_cut(fvp, image):
    done = fvp(image, steps=f"exit:6 {'x' * 299}")
    assert f"{LINE} has 311 characters, of which the first 256 reach the firmware" in done.stderr


@pytest.mark.parametrize(
    ("words", "inside", "outside"),
    [
        ("", "213ffffc", "21400000"),
        ("-C mps3_board.sse300.NUMVMBANK=1", "211ffffc", "21200000"),
        ("-C mps3_board.sse300.VM_BANK_SIZE=4096", "217ffffc", "21800000"),
        ("-C mps3_board.FPGA_SRAM_SIZE=8", "017ffffc", "01800000"),
        ("-C mps3_board.FPGA_SRAM_SIZE=1", "010ffffc", "01100000"),
        ("-C cpu0.CFGITCMSZ=15", "00fffffc", "01800000"),
        ("-C cpu0.CFGDTCMSZ=15", "20fffffc", "4f000000"),  # the emulator's registers
    ],
)
def test_sizes_of_memories(fvp, image, words, inside, outside):
    done = fvp(*words.split(), image, steps=f"touch:{inside} touch:{outside}")
    assert f"touch {inside}: ok" in done.stdout and done.returncode == newlib_program.FAULT


def test_where_the_heap_and_the_stack_are(fvp, image):
    words = "-C cpu0.semihosting-stack_base=0x31100000 -C cpu0.semihosting-heap_limit=0x30040000"
    words += " -C cpu0.semihosting-heap_base=16 -C cpu0.semihosting-stack_limit=0x310c0000"
    said = report(fvp(*words.split(), image, steps="heapinfo"))
    assert said.endswith("heapinfo 10 30040000 31100000 310c0000\n")


def test_files_of_one_folder_and_no_commands(fvp, image, tmp_path):
    """Semihosting only uses files of semihosting-cwd, else of the working folder."""
    run = tmp_path / "run"
    run.mkdir()
    for name in ("in.txt", "run/in.txt"):
        (tmp_path / name).write_text(name)
    steps = (
        f"copy:in.txt,out.txt copy:{tmp_path}/in.txt,b.txt copy:../in.txt,c.txt copy:in.txt,../d"
    )
    words = image, "-V", "-C", "cpu0.semihosting-cwd=run"
    done = fvp(*words, steps=f"{steps} call:run,18,@touch,5")
    assert done.returncode == 0 and done.stdout.partition(STOPPED)[0].splitlines()[1:] == [
        "copy: ok", f"copy: cannot open {tmp_path}/in.txt", "copy: cannot open ../in.txt",
        "copy: cannot open ../d", "run: -1 1",
    ]  # fmt: skip
    assert done.stderr.count("ethosu: semihosting: ") == 4
    assert (run / "out.txt").read_text() == "RUN/IN.TXT10"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["in.txt"] * 2 + ["out.txt", "run"]
    done = fvp(image, steps="copy:run/out.txt,e.txt copy:/etc/hostname,f.txt")
    assert "copy: ok\ncopy: cannot open /etc/hostname\n" in done.stdout


def test_start_address_and_intel_hex(fvp, tmp_path):
    elf, hex_file = newlib_program.build(code_start=0x11000000), tmp_path / "merged.hex"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "ihex", elf, hex_file], check=True)
    assert fvp("-C", "cpu0.INITSVTOR=0x11000000", elf, steps="exit:8").returncode == 8
    assert fvp("-C", "cpu0.INITSVTOR=0x11000000", hex_file, steps="exit:8").returncode == 8
    assert fvp(elf, steps="exit:8").returncode == 1


def test_corstone_320(fvp, tmp_path):
    """Corstone-320 runs code in its SRAM, and data in a DTCM as large as Corstone-300's.

    QEMU does not know the size of this machine's RAM.
    """
    cpu = "mps4_board.subsystem.cpu0"
    (tmp_path / "model.pte").write_bytes(bytes.fromhex("78563412 efbeadde"))
    words = f"-C {cpu}.INITSVTOR=0x12000000 -C {cpu}.CFGDTCMSZ=10 -C {cpu}.semihosting-stack_base=0"
    words += " -C mps4_board.subsystem.ethosu.num_macs=512 -C vis_hdlcd.disable_visualisation=1"
    words += " --data model.pte@0x70000000"
    peeks = {"50004028": "20001119", "70000000": "12345678", "70000004": "deadbeef"}
    steps = " ".join(f"peek:{address}" for address in peeks)
    line = f"{cpu}.semihosting-cmd_line=prog malloc:300000 {steps} exit:5"
    image = newlib_program.build(code_start=0x12000000)
    done = fvp(*words.split(), "-C", line, image, name="FVP_Corstone_SSE-320")
    assert (done.returncode, done.stderr) == (5, "") and "malloc: ok" in done.stdout
    assert all(f"peek {address}: {word}" in done.stdout for address, word in peeks.items())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.elf"], "error: none.elf: No such file or directory"),
        (["IMAGE", "-C", "ethosu.num_macs=100"], "=100: expected one of 32, 64, 128, 256"),
        (["IMAGE", "--data", "IMAGE@0xfffffff0"], "more than there are from 0xfffffff0 on"),
        (["IMAGE", "-C", "cpu0.semihosting-cwd=nowhere"], "nowhere is no folder"),
        (["IMAGE", "-C", "mps3_board.uart0.out_file=no/f"], "out_file=no/f: No such file"),
        (["IMAGE", "-C", "mps3_board.telnetterminal0.mode=x"], "mode=x: expected raw or telnet"),
        (["IMAGE", "--data", "none.bin@0"], "error: none.bin is no file"),
        (["IMAGE", "--dump", "no/f@0x60000000,4"], "--dump=no/f: No such file"),
        (["IMAGE", "--dump", "/dev/null@0x4f000000,4"], "no memory of this board has all 4 bytes "),
        (["IMAGE", "-f", "none.txt"], "error: none.txt cannot be read: "),
        (["IMAGE", "-C", "mps3_board.uart0.out_file=IMAGE"], "uart0.out_file would overwrite "),
        (["IMAGE", "--dump", "IMAGE@0x60000000,4"], "--dump would overwrite "),
        (["TEXT"], "is not a firmware image for Arm"),
        (["IMAGE", "-C", "mps3_board.uart0.out_file=/dev/full"], "error: No space left on device"),
    ],
)
def test_wrong_words(fvp, image, tmp_path, words, message):
    text = tmp_path / "text"
    text.write_text("text")
    words = [word.replace("IMAGE", str(image)).replace("TEXT", str(text)) for word in words]
    done = fvp(*words, steps="uart:0,x")
    assert done.returncode == 1 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_the_list_of_parameters_is_a_configuration(fvp, image, tmp_path):
    """The list of parameters can be used as a configuration; terminals then have ports."""
    done = fvp("--list-params", "-o", "all.txt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = fvp("-f", "all.txt", "--strict", image, steps="exit:5")
    assert (done.returncode, done.stderr) == (5, "")
    assert len(re.findall(r"^telnetterminal\d: Listening", done.stdout, re.MULTILINE)) == 4


def test_the_list_of_parameters_may_be_cut(programs):
    command = f"{shlex.quote(str(programs / U55))} --list-params | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.stdout.startswith("cpu0.CFGDTCMSZ=10 ") and not done.stderr


def test_a_stopped_program_leaves_no_emulator(programs, image):
    words = "-C", "mps3_board.telnetterminal0.start_port=5900", "-C", f"{LINE}=prog spin", image
    with started(programs, *words) as (process, _):
        emulator = Emulator(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 130
        wait_for_end(emulator.pid)


def test_installing_overwrites_only_our_own_programs(ethosu, fails, tmp_path):
    code, out, _ = ethosu("fvp", "install", tmp_path / "bin")
    assert code == 0 and all(str(tmp_path / "bin" / name) in out for name in MODELS)
    assert all(os.access(tmp_path / "bin" / name, os.X_OK) for name in MODELS)
    assert ethosu("fvp", "install", tmp_path / "bin")[0] == 0
    arms = tmp_path / "bin" / U65
    arms.write_bytes(b"\x7fELF")
    fails("fvp", "install", tmp_path / "bin", code=3, said=f"{arms} exists and is another program")
    assert arms.read_bytes() == b"\x7fELF"
    code, _, err = ethosu("fvp", "install", arms)
    assert code == 3 and len(err.splitlines()) == 1
