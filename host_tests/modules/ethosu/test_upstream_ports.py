# SPDX-License-Identifier: MIT
"""MicroPython's own ports build with the module as docs/upstream_port.md describes.

Warnings are errors. The page's commands run unchanged with the default release, and also with each
supported release and the newest source, at -Os and -O2.
"""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from host_tests.kit import pages, sharing

pytestmark = pytest.mark.slow

FETCH = "$(python3 firmware/make/fetch_micropython.py)"
# The examples omit this, because Debian's source package of MicroPython lacks it.
LEFT_OUT = ("lib/berkeley-db-1.xx", "lib/libffi", "lib/mbedtls", "lib/micropython-lib")
ADDRESS = "https://github.com/micropython/micropython.git"
NPU = "['ethos-u55-128']"


def commands(port):
    """Return the page's commands that build a port and run the self-test."""
    blocks = pages.blocks("docs/upstream_port.md")
    return "".join(
        block.text for block in blocks if block.language == "sh" and f"ports/{port}" in block.text
    )


def run(repo, block):
    """Run commands, whose prerequisites were built before."""
    for folder in ("firmware", "tools/sim_host", "tools/qemu_plugin"):
        sharing.make(folder)
    search = os.pathsep.join([str(repo / ".venv/bin"), os.environ["PATH"]])
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
    with sharing.turn():
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=repo,
            env={**environment, "PATH": search},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def unix(repo):
    """Return the output of the page's commands for the unix port."""
    return run(repo, commands("unix"))


@pytest.fixture(scope="module")
def qemu(repo):
    """Return the output of the page's commands for the qemu port."""
    return run(repo, commands("qemu"))


def releases(repo):
    """Return the releases that Debian's archive has."""
    pins = tomllib.loads((repo / "firmware/micropython.toml").read_text())
    return [name for name, pin in pins["release"].items() if "debian_tarball" in pin]


@pytest.fixture(scope="module")
def newest(tmp_path_factory):
    """Return MicroPython's newest source: MICROPYTHON_DIR's folder, else from its address."""
    given = os.environ.get("MICROPYTHON_DIR")
    if given:
        return Path(given).resolve()
    tree = tmp_path_factory.mktemp("newest") / "micropython"
    command = ["git", "clone", "-q", "--depth=1", ADDRESS, tree]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        pytest.skip(f"NOT TESTED WITH THE NEWEST MICROPYTHON: {done.stderr.strip()[-200:]}")
    return tree


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of builds with other releases, which share a release's mpy-cross."""
    return tmp_path_factory.mktemp("ports")


def python(repo, code):
    """Run a program in the unix port; returns its output."""
    command = [repo / "build/ports/unix/micropython", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_self_test_passes_in_the_unix_port(unix):
    assert unix.splitlines()[-1] == "True"


def test_an_inference_in_the_unix_port_is_exact(repo, unix, compiled, small_models, example):
    """Inferences are exact: blocking, in place, and in a task while another task runs."""
    _, x, golden = example
    path = compiled(small_models["small_cnn"])
    printed = python(
        repo,
        "import asyncio, ethosu\nprint(ethosu.npus())\n"
        f"m, x, golden = ethosu.Model({str(path)!r}), bytearray({x.tobytes()!r}), "
        f"{golden.tobytes()!r}\n"
        "print(bytes(m.predict([x])[0]) == golden)\n"
        "m.run_into([x])\nprint(bytes(m.outputs[0].data) == golden)\n"
        "async def main():\n"
        "    task = asyncio.create_task(m.run([x]))\n"
        "    return bytes((await task)[0]) == golden\n"
        "print(asyncio.run(main()))\nkept = ethosu.reserve()\n",  # the port's end stops it
    )
    assert printed.splitlines() == ["['ethos-u55-128']", "True", "True", "True"]


def test_the_unix_port_rejects_memory_that_its_npu_cannot_access(repo, unix):
    """The unix port rejects memory outside of Python's heap, which its NPU cannot access."""
    printed = python(
        repo,
        "import ethosu, uctypes\nn = ethosu.reserve()\n"
        "payload = b'COP1' + bytes((5, 0, 0, 0, 5, 0, 0, 0, 2, 0, 1, 0, 0, 0, 255, 255))\n"
        "far = uctypes.bytearray_at(0x1000, 64)\n"
        "try: n.invoke(payload, [far])\nexcept OSError as error: print(error)\n",
    )
    assert "base pointer 0, 64 bytes at 0x1000, is in memory that the NPU can't see" in printed


def test_self_test_passes_in_the_qemu_port(qemu):
    """The self-test passes by the NPU's interrupt; without it, the driver would time out."""
    assert f">OK{NPU}" in qemu
    assert re.search(r"^True\s*$", qemu, re.MULTILINE)


def test_the_qemu_port_without_the_plugin_has_no_npu(repo, qemu):
    """Without the plugin, the same image raises an exception, then shows its prompt."""
    block = commands("qemu")
    (line,) = re.findall(r"^ *-plugin .*\n", block, re.MULTILINE)
    *_, start = block.replace(line, "").partition("SIZE=")
    start = start.replace("qemu-system-arm", "timeout 30 qemu-system-arm")
    printed = run(repo, f"set +e\nSIZE={start}\ntrue\n")
    assert ">OK[]" in printed
    assert "ENODEV: this board has no NPU 0; ethosu.npus() lists its NPUs" in printed


def test_a_soft_reset_of_the_qemu_port_stops_npus(repo, qemu):
    """A soft reset stops NPUs, as MicroPython's exit function calls the module's."""
    elf = repo / "build/ports/qemu/firmware.elf"
    command = ["arm-none-eabi-objdump", "-d", "--disassemble=mp_deinit", elf]
    code = sharing.run(command)
    assert "<ethosu_deinit_all>" in code


def sources():
    """Return each release that Debian's archive has, and the newest source."""
    return [*releases(sharing.REPO), "newest"]


@pytest.mark.parametrize("level", ["-Os", "-O2"])
@pytest.mark.parametrize("port", ["unix", "qemu"])
@pytest.mark.parametrize("source", sources())
def test_the_self_test_passes_with_each_source(source, port, level, repo, folder, request):
    """The self-test passes with each source, built in separate folders."""
    block = commands(port).replace("$PWD/build/ports/mpy-cross", f"{folder}/{source}")
    block = block.replace("$PWD/build/ports", "build/ports")
    block = block.replace("build/ports", f"{folder}/{source}{level}")
    if source == "newest":
        block = block.replace(FETCH, str(request.getfixturevalue("newest")))
    else:
        fetch = FETCH.replace("python3", "env -u MICROPYTHON_DIR python3")
        block = block.replace(FETCH, fetch.replace(".py)", f".py {source})"))
    build = f"make -C $MICROPYTHON/ports/{port} "
    assert build in block
    printed = run(repo, block.replace(build, f"{build}COPT='{level} -DNDEBUG' "))
    assert re.search(r"^True\s*$", printed, re.MULTILINE)


def test_a_manifest_of_the_newest_source_can_name_the_module(repo, newest, folder):
    """From MicroPython 1.29 on, a manifest can name the module instead of USER_C_MODULES."""
    if "def c_module(" not in (newest / "tools/manifestfile.py").read_text():
        pytest.skip(f"NOT TESTED WITH A MANIFEST THAT NAMES THE MODULE: {newest} has no c_module()")
    manifest = folder / "manifest.py"
    own = repo / "modules/ethosu/ports/unix/manifest.py"
    manifest.write_text(f'include("{own}")\nc_module("{repo}/modules/ethosu")\n')
    block = commands("unix").replace("$PWD/build/ports/mpy-cross", f"{folder}/newest")
    block = block.replace("$PWD/build/ports", "build/ports")
    block = block.replace("build/ports", f"{folder}/manifest").replace(FETCH, str(newest))
    named = "USER_C_MODULES=$PWD/modules "
    assert block.count(named) == 1
    printed = run(repo, block.replace(named, f"FROZEN_MANIFEST={manifest} "))
    assert printed.splitlines()[-1] == "True"


def test_the_examples_omit_exactly_what_the_source_lacks(repo):
    """If the source has what the examples and the page omit, they should no longer omit it."""
    fetch = ["python3", repo / "firmware/make/fetch_micropython.py"]
    tree = sharing.run(fetch).strip()
    there = [name for name in LEFT_OUT if list((repo / tree / name).glob("*"))]
    assert there == [], f"{tree} has {there}, which Debian's source package lacks"
