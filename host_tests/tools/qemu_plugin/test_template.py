# SPDX-License-Identifier: MIT
"""A device that the emulator lacks is a file and a row: template/ has those that the page names.

A plugin is built with them, as a porter does it.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from ethosu_tools.base import deadline

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver.test_library import TARGET
from host_tests.tools.qemu_plugin import test_corstone_320
from host_tests.tools.qemu_plugin.guest import TIMEOUT_S, outcome

TEMPLATE = Path(__file__).parent / "template"
PLUGIN = sharing.REPO / "tools/qemu_plugin"
# Its files, by their folders in the plugin.
PLACES = {"chip": "uart_template.c", "dma": "dma_template.c", "boards": "template.toml"}


def with_files(folder: Path) -> Path:
    """A copy of the plugin's sources with the template's files, but without their rows."""
    (folder / "ethosu_tools").symlink_to(PLUGIN.parent / "ethosu_tools")
    copy = shutil.copytree(PLUGIN, folder / "qemu_plugin")
    for place, name in PLACES.items():
        shutil.copy(TEMPLATE / name, copy / place)
    return copy


def add_rows(copy: Path) -> None:
    table, rows = copy / "board/devices.def", (TEMPLATE / "rows.def").read_text()
    before, mark, after = table.read_text().partition("#undef UART\n")
    table.write_text(f"{before}{rows}\n{mark}{after}")


@pytest.fixture(scope="module")
def built(plugin, build_dir, tmp_path_factory) -> Path:
    """The plugin with the template's devices."""
    archive = build_dir / "npu_sim/libnpu_sim.a"

    def make(output: Path) -> None:
        copy = with_files(tmp_path_factory.mktemp("template"))
        add_rows(copy)
        command = ["make", "-s", "-C", copy, "-j2", "CFLAGS=-O0", f"BUILD={copy / 'build'}"]
        command += [f"ROOT={sharing.REPO}", f"SIM_DIR={PLUGIN.parent / 'npu_sim'}"]
        subprocess.run([*command, f"SIM_BUILD={archive.parent}"], check=True)
        shutil.copy(copy / "build" / plugin.name, output)

    sources = [path for path in sorted(PLUGIN.rglob("*")) if path.suffix in {".c", ".h", ".def"}]
    sources += [PLUGIN / "board_table.py", *sorted(TEMPLATE.iterdir()), archive]
    return sharing.cached("template.so", sources, make)


@pytest.fixture(scope="module")
def image() -> Path:
    script = test_corstone_320.SOURCES / "program.ld"
    command = ["arm-none-eabi-gcc", *test_corstone_320.FLAGS.split(), "-nostdlib", f"-I{TARGET}"]
    command += ["-Wl,--no-warn-rwx-segments", f"-T{script}", TEMPLATE / "program.c", "-o"]
    return sharing.program("template.elf", command)


@pytest.fixture
def run(qemu, built, image, tmp_path):
    def start(*arguments: str):
        ends = []
        for name in ("line.in", "line.out"):
            os.mkfifo(tmp_path / name)
            ends.append(os.open(tmp_path / name, os.O_RDWR))
        os.write(ends[0], b"hello\n")
        words = ",".join([str(built), "board=TEMPLATE", "npu=none", *arguments])
        command = [qemu, "-machine", "none", "-display", "none", "-monitor", "none"]
        command += ["-chardev", f"pipe,id=line,path={tmp_path / 'line'}", "-serial", "chardev:line"]
        command += ["-semihosting-config", "enable=on,target=native", "-plugin", words]
        done = deadline.run([*command, "-device", f"loader,file={image}"], TIMEOUT_S)
        printed = os.read(ends[1], 1 << 16).decode() if done.returncode == 0 else ""
        for end in ends:
            os.close(end)
        return outcome(done.stderr, done.returncode), printed

    return start


def test_its_devices_work(run):
    found, line = run()
    assert (found.code, line) == (0, "hello\n"), found.output
    assert found.messages == ["uart: it is off: bytes are lost"]
    assert found.output.endswith("\ncopy 2\ncopied 42\nnot_read 4\n")


def test_faults_reach_its_dma_controller(run):
    found, _ = run("fault=dma.bus-error")
    assert "copy 4\ncopied 0\n" in found.output
    assert "dma: injected fault bus-error" in found.messages


def test_a_file_without_its_row_is_refused_with_what_is_known(tmp_path):
    copy = with_files(tmp_path)
    command = ["python3", copy / "board_table.py", tmp_path / "board_table.c"]
    done = subprocess.run(command, capture_output=True, text=True)
    where = "tools/qemu_plugin/boards/template.toml: TEMPLATE: memories.MAILBOX"
    assert done.stderr.startswith(f"{where}: `kind` is 'write-only'; known: 'ram', 'kept', ")
