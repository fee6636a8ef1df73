# SPDX-License-Identifier: MIT
"""`ethosu linux`: boot Linux in QEMU, with an NPU for the kernel's own driver."""

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from ...base.errors import BoardError
from ...base.ui import Ui
from ...boards import targets
from . import virt

EPILOG = """\
QEMU's machine virt for AArch64 or Arm has an Ethos-U65 or U85, which the kernel's driver finds
(drivers/accel/ethosu, since Linux 6.19). The kernel's console is this terminal; press Ctrl-A X to
quit.

    ethosu linux --kernel vmlinuz --initrd initramfs.gz --npu ethos-u85-256
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    targets.add_npu_option(parser, "NPU (default: %(default)s)", default=virt.DEFAULT_NPU)
    parser.add_argument(
        "--kernel", type=Path, required=True, help="kernel: Image (arm64) or zImage (arm)"
    )
    parser.add_argument("--initrd", type=Path, help="initramfs, may be compressed")
    parser.add_argument("--append", metavar="WORDS", help="additions to the kernel's command line")
    parser.add_argument("--memory", metavar="SIZE", help=f"RAM (default: {virt.DEFAULT_MEMORY})")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Boot a kernel, with its console on this terminal."""
    with tempfile.TemporaryDirectory(prefix="ethosu-virt-") as folder:
        command = virt.command(
            args.kernel,
            args.initrd,
            Path(folder),
            npu=args.npu,
            append=args.append or "",
            memory=args.memory or virt.DEFAULT_MEMORY,
        )
        code = subprocess.run(command, check=False).returncode
    if code:
        raise BoardError(f"QEMU ended with exit code {code}")
    return {"machine": "virt", "npu": args.npu, "ended": "off"}


def render(data: dict[str, Any]) -> str:
    """Report how Linux ended."""
    return f"the machine {data['machine']} with {data['npu']} is {data['ended']}"
