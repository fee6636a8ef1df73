# SPDX-License-Identifier: MIT
"""The module in MicroPython's own ports, built completely as docs/upstream_port.md describes.

Their warnings are errors. Both are built in build/ports, and rebuilt only if a source changed.
"""

import os
import re
import subprocess

import pytest

from host_tests.kit import sharing

pytestmark = pytest.mark.slow

BLOCK = r"^```sh test {port}\n(.*?)^```$"
# Left out of the examples, because Debian's source package of MicroPython lacks it.
LEFT_OUT = ("lib/berkeley-db-1.xx", "lib/libffi", "lib/mbedtls", "lib/micropython-lib")


def commands(repo, port):
    """The page's blocks for a port; the first one builds it."""
    page = (repo / "docs/upstream_port.md").read_text()
    return re.findall(BLOCK.format(port=port), page, re.MULTILINE | re.DOTALL)


def run(repo, block):
    search = os.pathsep.join([str(repo / ".venv/bin"), os.environ["PATH"]])
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block], cwd=repo, env={**environment, "PATH": search},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def built(repo, port):
    """Run the page's first block for a port; returns the others."""
    sharing.make("firmware")  # which also builds mpy-cross
    sharing.make("tools/sim_host")
    build, *rest = commands(repo, port)
    with sharing.turn():
        run(repo, build)
    return rest


@pytest.fixture(scope="module")
def unix(repo):
    """Output of the page's commands after the build of the unix port."""
    return "".join(run(repo, block) for block in built(repo, "unix"))


@pytest.fixture(scope="module")
def qemu(repo):
    """Output of a board in the qemu port."""
    return "".join(run(repo, block) for block in built(repo, "qemu"))


def python(repo, code):
    """Output of a program in the unix port."""
    command = [repo / "build/ports/unix/micropython", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_self_test_passes_in_the_unix_port(unix):
    assert unix.splitlines()[-1] == "True"


def test_an_inference_in_the_unix_port_is_exact(repo, unix, compiled, small_models, example):
    """Blocking, in place, and in a task while another task runs."""
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
    """Memory outside Python's heap."""
    printed = python(
        repo,
        "import ethosu, uctypes\nn = ethosu.reserve()\n"
        "payload = b'COP1' + bytes((5, 0, 0, 0, 5, 0, 0, 0, 2, 0, 1, 0, 0, 0, 255, 255))\n"
        "far = uctypes.bytearray_at(0x1000, 64)\n"
        "try: n.invoke(payload, [far])\nexcept OSError as error: print(error)\n",
    )
    assert "base pointer 0, 64 bytes at 0x1000, is in memory that the NPU can't see" in printed


def test_the_qemu_port_reports_that_it_has_no_npu(qemu):
    assert ">OK[]" in qemu
    assert "ENODEV: this board has no NPU 0; ethosu.npus() lists its NPUs" in qemu


def test_a_soft_reset_of_the_qemu_port_stops_npus(repo, qemu):
    """MicroPython's exit function calls the module's."""
    elf = repo / "build/ports/qemu/firmware.elf"
    command = ["arm-none-eabi-objdump", "-d", "--disassemble=mp_deinit", elf]
    code = sharing.run(command)
    assert "<ethosu_deinit_all>" in code


def test_the_examples_omit_exactly_what_the_source_lacks(repo):
    """If the source includes it, the examples and the page should not leave it out."""
    fetch = ["python3", repo / "firmware/fetch_micropython.py"]
    tree = sharing.run(fetch).strip()
    there = [name for name in LEFT_OUT if list((repo / tree / name).glob("*"))]
    assert there == [], f"{tree} has {there}, which Debian's source package lacks"
