# SPDX-License-Identifier: MIT
"""For arguments that the plugin rejects, it prints one sentence, and QEMU ends."""

from pathlib import Path

import pytest
from ethosu_tools.base import deadline

from host_tests.kit.matrix import others_are_slow
from host_tests.tools.qemu_plugin.guest import TIMEOUT_S, Guest, outcome
from host_tests.tools.qemu_plugin.releases import version

WRONG = {
    "speed=3": 'unknown argument "speed"; expected npu, npu1, board, timing, coherence, console, '
    "fault, log, memory, npu_memory, page, unmapped, size, heapinfo, vectors, "
    "stderr, dump, watch",
    "board=NONE": "board=NONE: expected MPS3_AN547, ALIF_ENSEMBLE_E7-M55_HP",
    "board=ALIF_ENSEMBLE_E7-M55_HP": "board=ALIF_ENSEMBLE_E7-M55_HP: start QEMU with -machine none",
    "memory=ROM:3": "memory=ROM:3: expected NAME:FD with FD an open file and NAME one of ITCM, ",
    "memory=DDR": "memory=DDR: expected NAME:FD",
    "memory=DDR:3x": "memory=DDR:3x: expected NAME:FD",
    "memory=DDR:99": "memory=DDR:99: expected an open file of 2147483648 bytes",
    "npu=ethos-u55-512": "npu=ethos-u55-512: expected none, ethos-u55-32, ethos-u55-64, ",
    "npu=": "npu=: expected none, ethos-u55-32",
    "timing=fast": "timing=fast: expected host, model or model:MHZ with MHZ from 1 to 10000",
    "timing=model:0": "timing=model:0: expected host, model or model:MHZ",
    "timing=model:5x": "timing=model:5x: expected host, model or model:MHZ",
    "npu_memory=0:16:0:1:1:8": "npu_memory=0:16:0:1:1:8: expected START:SIZE:MILLIBYTES:READ_LAT",
    "npu_memory=0:16:8000:1:1": "npu_memory=0:16:8000:1:1: expected START:SIZE:MILLIBYTES:READ_LAT",
    "coherence=on": "coherence=on: expected off, strict or evict:SEED",
    "console=tcp": "console=tcp: expected pty",
    "console=ptyx": "console=ptyx: expected pty",
    "fault=slow": "fault=slow: expected [DEVICE.]NAME[:COUNT][@AFTER], an existing device",
    "fault=npu1.hang": "fault=npu1.hang: expected",
    "fault=hang:many": "fault=hang:many: expected",
    "fault=hang@soon": "fault=hang@soon: expected",
    "fault=console.slow@5": "fault=console.slow@5: expected",
    "fault=": "fault=: expected",
    "page=some": "page=some: expected none",
    "unmapped=loud": "unmapped=loud: expected error or silent",
    "size=ITCM": "size=ITCM: expected NAME:KIB with KIB from 1 to 4194303 and NAME one of ITCM, ",
    "size=DDR:1": "size=DDR:1: expected NAME:KIB",
    "size=ITCM:0": "size=ITCM:0: expected NAME:KIB",
    "size=ITCM:1x": "size=ITCM:1x: expected NAME:KIB",
    "size=ITCM:4194304": "size=ITCM:4194304: expected NAME:KIB",
    "size=ITCM:16385": "size=ITCM:16385: expected at most 16384 KiB, where the next memory begins",
    "heapinfo=0:0:0": "heapinfo=0:0:0: expected HEAP_BASE:HEAP_LIMIT:STACK_BASE:STACK_LIMIT in hex",
    "heapinfo=0:0:0:0:0": "heapinfo=0:0:0:0:0: expected HEAP_BASE",
    "heapinfo=-1:0:0:0": "heapinfo=-1:0:0:0: expected HEAP_BASE",
    "heapinfo=1ffffffff:0:0:0": "heapinfo=1ffffffff:0:0:0: expected HEAP_BASE",
    "size=ITCM:256,size=ITCM:128": "size=ITCM:128: expected each memory once",
    "vectors=0x10000040": "vectors=0x10000040: expected an address that is a multiple of 128",
    "vectors=0x100000000": "vectors=0x100000000: expected an address",
    "vectors=": "vectors=: expected an address that is a multiple of 128",
    "stderr=none": "stderr=none: expected own or stdout",
    "dump=3:60000000": "dump=3:60000000: expected FD:ADDRESS:SIZE with FD an open file",
    "dump=3:60000000:0": "dump=3:60000000:0: expected FD:ADDRESS:SIZE",
    "dump=3:60000000:4x": "dump=3:60000000:4x: expected FD:ADDRESS:SIZE",
    "dump=1:200ffffc:8": "no memory of this board has all 8 bytes from 0x200ffffc on",
    ",".join(["dump=1:60000000:4"] * 9): "dump=1:60000000:4: expected fewer dumps",
    "watch=main": "watch=main: expected an address in hexadecimal",
    "watch=1g": "watch=1g: expected an address in hexadecimal",
    ",".join(["watch=0"] * 33): "watch=0: expected at most 32 addresses",
    "log=loud": "log=loud: expected none, guest_error or all",
}


@others_are_slow
@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_argument(guest: Guest, arguments: str) -> None:
    refused = guest.run("identify", arguments)
    assert refused.code == 1
    assert len(refused.messages) == 1
    assert refused.messages[0].startswith(WRONG[arguments])
    assert not refused.values, "the guest did not start"


def test_another_machine_is_refused(guest: Guest) -> None:
    command = [guest.qemu, "-machine", "mps2-an505", "-display", "none", "-plugin", guest.plugin]
    done = deadline.run(command, TIMEOUT_S)
    assert done.returncode == 1
    assert outcome(done.stderr, 1).messages == [
        "this machine is not MPS3_AN547: start QEMU with -machine mps3-an547"
    ]


def without(plugin: Path, function: str, changed: Path) -> Path:
    """Copy the plugin, and let it import a function that no QEMU exports."""
    name = b"\0" + function.encode() + b"\0"
    content = plugin.read_bytes()
    assert name in content
    # The dynamic string table precedes the plugin's own messages in the file.
    other = b"\0" + b"x" * len(function) + b"\0"
    changed.write_bytes(content.replace(name, other, 1))
    return changed


@pytest.mark.parametrize("function", ["memory_region_init_io", "aio_bh_schedule_oneshot_full"])
def test_qemu_that_lacks_a_function_is_refused(guest: Guest, tmp_path: Path, function: str) -> None:
    plugin = without(guest.plugin, function, tmp_path / "plugin.so")
    refused = Guest(guest.qemu, plugin, guest.program).run("identify")
    release = ".".join(str(part) for part in version(guest.qemu))
    assert refused.code == 1
    assert refused.messages == [
        f"this QEMU, version {release} for arm, does not export {function}, which the plugin "
        "needs; qemu-system-arm as Debian builds it, 7.2 to 11.1, does"
    ]


def test_guest_errors_can_be_silenced(guest: Guest) -> None:
    assert len(guest.run("stream_in_tcm", "log=guest_error").messages) == 1
    assert guest.run("stream_in_tcm", "log=none").messages == []
