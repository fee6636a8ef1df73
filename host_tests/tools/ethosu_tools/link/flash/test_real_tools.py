# SPDX-License-Identifier: MIT
"""Runs the vendors' own programs up to the missing board, since stand-ins share our errors.

Alif's toolkit comes by git, or from the folder that ETHOSU_ALIF_TOOLKIT names; dfu-util and OpenOCD
are Debian's, pyOCD is PyPI's. SEGGER's and Himax's programs are not available like this.
"""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.base import other_python
from ethosu_tools.link.flash import alif, common

from host_tests.kit import debian, needs, sharing

from . import vendors

pytestmark = pytest.mark.slow

# The size is no multiple of MRAM's 16 bytes.
IMAGE = b"\x00\x10\x00\x20" * 30_001
PORT = "/dev/no-such-port"
PYOCD = "pyocd==0.46.0"
# Boards whose first way to be flashed is the toolkit.
BY_ALIF = [name for name in vendors.alif_boards() if next(iter(boards.load(name).flash)) == "alif"]


def output(*command, folder=None):
    """Run a program; returns its output and exit code."""
    done = subprocess.run(
        [str(word) for word in command],
        **{"cwd": folder, "text": True, "stdin": subprocess.DEVNULL},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT},
    )
    return done.stdout, done.returncode


@pytest.fixture(scope="session")
def toolkit(repo):
    """Alif's toolkit, MicroPython's edition."""

    def fetch(new):
        for words in (
            ["init", "--quiet"],
            ["fetch", "--quiet", "--depth", "1", vendors.TOOLKIT, vendors.COMMIT],
            ["checkout", "--quiet", "FETCH_HEAD"],
        ):
            said, code = output("git", *words, folder=new)
            if code:
                pytest.skip(
                    f"NOT TESTED WITH ALIF'S TOOLKIT: git cannot fetch {vendors.TOOLKIT}: "
                    f"{said.strip()}; name its folder toolkit/ by ETHOSU_ALIF_TOOLKIT"
                )

    named = os.environ.get("ETHOSU_ALIF_TOOLKIT")
    folder = repo / "build" / f"alif-security-toolkit-{vendors.COMMIT[:8]}"
    return Path(named) if named else debian.keep(folder, fetch) / "toolkit"


@pytest.fixture(scope="session")
def data_home(tmp_path_factory):
    """A data folder with the environment `alif`, which `make newest` has made."""
    given = os.environ.get("XDG_DATA_HOME")
    if given and other_python.environment(other_python_kit()):
        return Path(given)
    home = tmp_path_factory.mktemp("data")
    run = [sys.executable, "-m", "ethosu_tools.cli", "doctor", "--install", other_python_kit()]
    done = subprocess.run(run, env=os.environ | {"XDG_DATA_HOME": str(home)}, text=True)
    assert done.returncode == 0
    return home


def other_python_kit():
    """The name of the environment for the toolkit."""
    return next(name for name, kit in other_python.kits().items() if "Alif" in kit.title)


@pytest.fixture
def python(data_home, monkeypatch):
    """The Python that `ethosu flash` takes for the toolkit."""
    monkeypatch.setenv("XDG_DATA_HOME", str(data_home))
    return other_python.environment(other_python_kit())


@pytest.fixture(scope="session")
def packages(repo, tmp_path_factory):
    """A folder with Debian's dfu-util and openocd, which find their own libraries and files."""
    try:
        root = debian.unpacked(repo / "build/flash-tools", "dfu-util", "openocd")
    except debian.PackageMissingError as error:
        needs.missing(f"NOT TESTED WITH DFU-UTIL AND OPENOCD: {error}")
    libraries = next(root.glob("usr/lib/*-linux-gnu*"), root)
    folder = tmp_path_factory.mktemp("bin")
    for name, scripts in (("dfu-util", ""), ("openocd", f"-s {root}/usr/share/openocd/scripts")):
        lines = "#!/bin/sh", f'export LD_LIBRARY_PATH="{libraries}"'
        (folder / name).write_text(
            "\n".join([*lines, f'exec {root}/usr/bin/{name} {scripts} "$@"\n'])
        )
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def debian_tools(packages, monkeypatch):
    """Debian's programs on PATH."""
    monkeypatch.setenv("PATH", str(packages), prepend=os.pathsep)


@pytest.fixture
def image(tmp_path):
    """An image to flash; the folder's name has a space."""
    folder = tmp_path / "an image"
    folder.mkdir()
    (folder / "firmware.bin").write_bytes(IMAGE)
    return folder / "firmware.bin"


@pytest.mark.parametrize("program", [name for name in vendors.OPTIONS if name.endswith(".py")])
def test_the_toolkit_has_the_options_that_we_recorded(toolkit, python, program):
    said, code = output(python, toolkit / program, "--help")
    assert code == 0 and set(re.findall(r"--[a-z][a-z_-]*", said)) == vendors.OPTIONS[program]


def test_the_toolkit_has_the_chips_that_we_recorded(toolkit):
    rows = json.loads((toolkit / "utils/devicesDB.db").read_text())
    features = json.loads((toolkit / "utils/featuresDB.db").read_text())
    found = {
        part: features[row["featureSet"]]["revisions"]
        for name, row in rows.items()
        for part in vendors.REVISIONS
        if part in name
    }
    assert found == vendors.REVISIONS
    for file in vendors.DEVICE_CONFIGS:
        assert (toolkit / "build/config" / file).is_file()


@pytest.mark.parametrize("name", vendors.alif_boards())
def test_alifs_toolkit_up_to_the_missing_port(
    ethosu, toolkit, python, image, tmp_path, name, monkeypatch
):
    monkeypatch.setattr("ethosu_tools.base.paths.work", lambda name: tmp_path / "a folder" / name)
    words = "--way", "alif", "--tools", toolkit, "--firmware", image, "--port", PORT
    code, _, err = ethosu("flash", name, *words)
    assert code == 5 and "app-write-mram.py failed" in err and f"could not open port {PORT}" in err
    contents = (tmp_path / "a folder/flash" / name / "firmware.toc.bin").read_bytes()
    part = vendors.alif_boards()[name]["part"]
    assert [each for each in vendors.REVISIONS if each.encode() in contents] == [part]


@pytest.mark.parametrize(
    "name",
    [name for name in vendors.alif_boards() if next(iter(boards.load(name).flash)) == "alif"],
)
def test_alifs_toolkit_takes_the_table_of_a_released_archive(toolkit, python, tmp_path, name):
    """As the archive's page says, without our tools: with `firmware.json` beside the image."""
    board = boards.load(name)
    settings = board.flash["alif"]
    (tmp_path / "firmware.bin").write_bytes(IMAGE)
    (tmp_path / alif.CONFIG).write_text(alif.table(settings, settings["device_config"]))
    release_page = sharing.script(sharing.REPO / "tools/setup/release/release_page.py")
    page = release_page.howto(board, "a.zip")
    first = re.search(r"^1\. python3 TOOLKIT/(\S+) (.*)$", page, re.MULTILINE)
    words = [word.replace("TOOLKIT", str(toolkit)) for word in shlex.split(first[2])]
    said, code = output(python, toolkit / first[1], *words, folder=tmp_path)
    assert code == 0 and (tmp_path / "firmware.toc.bin").is_file(), said


def test_alifs_toolkit_refuses_a_revision_that_the_chip_has_not(ethosu, toolkit, python, image):
    words = "--tools", toolkit, "--firmware", image, "--port", PORT, "--set", "revision=B4"
    code, _, err = ethosu("flash", "ALIF_ENSEMBLE_E8", *words)
    assert code == 5 and err.endswith("failed (exit code 1): Revision is invalid!\n")


def test_dfu_util_up_to_the_missing_camera(ethosu, debian_tools, image, monkeypatch):
    said, _ = output("dfu-util", "--help")
    assert vendors.OPTIONS["dfu-util"] <= set(re.findall(r"-\w\b|--[a-z-]+", said))
    monkeypatch.setattr(common, "SILENCE_S", 5.0)
    code, _, err = ethosu("flash", "OPENMV_AE3", "--firmware", image)
    assert code == 5 and err.endswith("| Waiting for device, exit with ctrl-C\n")
    _, out, _ = ethosu("flash", "OPENMV_AE3", "--firmware", image, "--dry-run", "--json")
    words = json.loads(out)["steps"][-1].split(" ")
    said, code = output(*(word for word in words[:-2] if word != "-w"), image)
    assert "No DFU capable USB device available" in said and code


def test_debians_openocd_up_to_the_missing_probe(fails, debian_tools, image, tmp_path):
    """Debian's OpenOCD lacks Infineon's files, an error; for a known chip, our commands work."""
    for file in ("PSE84_SMIF.FLM", "qspi_config.cfg"):
        (tmp_path / file).touch()
    words = "flash", "KIT_PSE84_AI", "--firmware", image, "--tools", tmp_path
    fails(*words, code=4, said="has no interface/kitprog3.cfg")
    known = "--set", "interface=interface/cmsis-dap.cfg", "--set", "target=target/psoc6.cfg"
    fails(*words, *known, code=5, said="Error: unable to find a matching CMSIS-DAP device")


def test_pyocd_up_to_the_missing_probe(fails, tmp_path, monkeypatch):
    made = subprocess.run([sys.executable, "-m", "venv", tmp_path / "pyocd"])
    pip = subprocess.run([tmp_path / "pyocd/bin/python", "-m", "pip", "install", "-q", PYOCD])
    assert (made.returncode, pip.returncode) == (0, 0)
    monkeypatch.setenv("PATH", str(tmp_path / "pyocd/bin"), prepend=os.pathsep)
    said, _ = output("pyocd", "load", "--help")
    assert vendors.OPTIONS["pyocd"] <= set(re.findall(r"--[a-z-]+", said))
    (tmp_path / "firmware.elf").write_bytes(IMAGE)
    words = "--way", "pyocd", "--firmware", tmp_path / "firmware.elf"
    fails("flash", "ALIF_ENSEMBLE_E7", *words, code=5, said="No target device available")
