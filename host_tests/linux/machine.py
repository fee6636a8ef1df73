# SPDX-License-Identifier: MIT
"""Boots Linux in QEMU with a client that runs models, and reads its output."""

from __future__ import annotations

import gzip
import re
import stat
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ethosu_tools.addons.linux import virt
from ethosu_tools.base import deadline
from ethosu_tools.model.arrays import Array

from host_tests.kit import sharing
from host_tests.linux import compiler
from host_tests.linux.kernel import Kernel

BOOT_S = 600  # in the emulator's time
HERE = Path(__file__).parent


def build_client() -> Path:
    """Compile the client, statically linked."""
    cross = compiler.get()
    build = sharing.BUILD / "accel/aarch64"
    sharing.make("modules/ethosu/accel", "archive", f"CROSS={cross}", f"BUILD={build}")
    module = sharing.REPO / "modules/ethosu"
    parts = "", "driver/include", "runtime/include", "accel"
    folders = *(module / part for part in parts), HERE
    command = [
        *(f"{cross}gcc", "-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror"),
        *('-DETHOSU_ADDED_ERRORS="accel_errors.def"', *(f"-I{folder}" for folder in folders)),
        *(HERE / "client.c", HERE / "refusals.c", build / "libethosu_accel.a", "-lm", "-o"),
    ]
    return sharing.program("linux_client", command)


def model_file(
    model: bytes, inputs: Sequence[Sequence[Array]], outputs: Sequence[Sequence[Array]]
) -> bytes:
    """Write a model with the inputs and expected outputs of each step, as client.c reads them."""
    data = struct.pack("<4I", len(model), len(inputs), len(inputs[0]), len(outputs[0])) + model
    for row in zip(inputs, outputs, strict=True):
        data += b"".join(array.tobytes() for arrays in row for array in arrays)
    return data


def _initramfs(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    """Make an archive in cpio's format newc of files with their modes, and of their folders."""
    entries: dict[str, tuple[bytes, int]] = {}
    for name, entry in files.items():
        for folder in reversed(Path(name).parents[:-1]):
            entries[str(folder)] = b"", stat.S_IFDIR | 0o755
        entries[name] = entry
    entries["TRAILER!!!"] = b"", 0
    archive = b""
    for number, (name, (content, mode)) in enumerate(entries.items()):
        path = name.encode() + b"\0"
        fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        archive += b"070701" + b"".join(b"%08x" % field for field in fields) + path
        archive += bytes(-len(archive) % 4) + content
        archive += bytes(-len(archive) % 4)
    return gzip.compress(archive, 1)


@dataclass(frozen=True)
class Boot:
    """The output of client, kernel and plugin."""

    output: str
    messages: str

    def differing(self) -> dict[str, list[int]]:
        """Return the number of differing bytes in each step of each model."""
        counts: dict[str, list[int]] = {}
        for name, count in re.findall(r"^(\S+): (\d+) bytes differ", self.output, re.MULTILINE):
            counts.setdefault(name, []).append(int(count))
        return counts

    def of(self, pattern: str) -> list[tuple[str, str]]:
        """Return name and text of each line \"NAME: TEXT\" whose text matches."""
        return re.findall(rf"^(\S+): ({pattern}.*?)\r?$", self.output, re.MULTILINE)

    def errnos(self) -> dict[str, int]:
        """Return the errno of each call of refusals.c."""
        lines = re.findall(r"^errno of (.*): (\d+)\r?$", self.output, re.MULTILINE)
        return {name: int(error) for name, error in lines}


@dataclass(frozen=True)
class Linux:
    """A kernel and a client."""

    kernel: Kernel
    client: Path

    def boot(
        self,
        folder: Path,
        npu: str,
        models: Mapping[str, bytes],
        words: str = "",
        plugin_options: Sequence[str] = (),
    ) -> Boot:
        """Run models, as model_file() makes them; `words` are for client.c."""
        files = {"init": (self.client.read_bytes(), stat.S_IFREG | 0o755)}
        for path in self.kernel.modules:
            files[f"modules/{path.name}"] = path.read_bytes(), stat.S_IFREG | 0o644
        for name, content in models.items():
            files[f"models/{name}"] = content, stat.S_IFREG | 0o644
        initrd = folder / "initramfs.gz"
        initrd.write_bytes(_initramfs(files))
        command = virt.command(
            *(self.kernel.image, initrd, folder),
            npu=npu,
            append=f"quiet loglevel=1 cma=128M {words}",
            plugin_options=plugin_options,
        )
        done = deadline.run(command, BOOT_S)
        boot = Boot(done.stdout.replace("\r", ""), done.stderr)
        assert done.returncode == 0 and "\ndone\n" in boot.output, boot.output + boot.messages
        return boot
