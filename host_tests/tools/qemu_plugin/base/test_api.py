# SPDX-License-Identifier: MIT
"""One plugin works with all levels of QEMU's plugin API, whose calls differ.

fake_qemu/ loads the plugin in place of QEMU, with the conventions of one level.
"""

import re
import subprocess

import pytest

from host_tests.kit import sharing

PLUGIN = sharing.REPO / "tools/qemu_plugin"
FAKE = sorted((sharing.REPO / "host_tests/tools/qemu_plugin/base/fake_qemu").glob("*.c"))
FLAGS = "-std=c11 -g -Wall -Wextra -Werror -Wno-unused-parameter -rdynamic -D_GNU_SOURCE"
WATCH = ("board=VIRT", "npu=none", "watch=1004")


@pytest.fixture
def load(plugin):
    """Load the plugin: (oldest and newest API, QEMU's version, arguments) to the process."""

    def run(oldest, newest, version, *arguments):
        # The calls differ from level 2 and from level 7 on.
        api = max(level for level in (1, 2, 7) if level <= newest)
        name = f"fake_qemu_{api}"
        command = ["gcc", *FLAGS.split(), f"-DAPI={api}", f"-I{PLUGIN}", *map(str, FAKE), "-o"]
        words = map(str, (plugin, oldest, newest, *version.split("."), *arguments))
        program = sharing.program(name, command)
        return subprocess.run([program, *words], capture_output=True, text=True)

    return run


@pytest.mark.parametrize(
    ("oldest", "newest", "version"),
    [
        (0, 1, "7.2"),
        (0, 1, "8.2"),
        (2, 2, "9.0"),
        (2, 4, "10.0"),
        (2, 5, "10.2"),
        (2, 6, "11.0"),
        (7, 7, "11.1"),
        (7, 7, "12.0"),
    ],
)
def test_it_counts_and_is_called(load, oldest, newest, version):
    done = load(oldest, newest, version, *WATCH)
    assert (done.returncode, done.stderr) == (0, "ethosu: watch: 2 0x00001004\n")
    assert oldest <= int(done.stdout.removeprefix("made for ")) <= newest


@pytest.mark.parametrize(
    ("oldest", "newest", "version", "found"),
    [
        (0, 1, "6.2", "version 6.2.0 with plugin API 1"),
        (7, 8, "13.0", "version 13.0.0 with plugin API 8"),
        (8, 9, "14.0", "version 14.0.0"),  # the plugin's code is not called, so it cannot tell
    ],
)
def test_what_it_does_not_know_is_refused_with_a_remedy(load, oldest, newest, version, found):
    done = load(oldest, newest, version, *WATCH)
    expected = f"ethosu: this QEMU, {found}, is not supported: the plugin works with QEMU 7.2 and "
    assert done.returncode == 1 and done.stderr.startswith(expected)
    assert done.stderr.count("\n") == 1 and "install qemu-system-arm of Debian" in done.stderr


def test_it_tells_what_it_runs_on(load):
    done = load(2, 4, "10.0", "board=VIRT", "tell=qemu")
    told = "ethosu: QEMU version 10.0.0 with plugin API 4; the plugin knows 1 to 7\n"
    assert (done.returncode, done.stderr) == (0, told)


def test_the_page_has_the_table():
    conventions = (PLUGIN / "base/callbacks.c").read_text().replace("QEMU_API_NEWEST", "7")
    rows = re.findall(r"^    \{(\d), \{(\d+), (\d+), 0\}", conventions, re.MULTILINE)
    page = (PLUGIN / "README.md").read_text()
    told = re.findall(r"^\| (\d) \| (\d+)\.(\d+) \|", page, re.MULTILINE)
    assert len(rows) == 3 and rows == told


def test_only_one_file_registers_callbacks():
    """Only one file registers callbacks, because it handles the differences between levels."""
    uses = {
        path.name
        for path in PLUGIN.rglob("*.[ch]")
        if re.search(r"qemu_plugin_(?:register|vcpu_for_each|uninstall|reset)", path.read_text())
    }
    assert uses == {"callbacks.c", "qemu_api.h"}
