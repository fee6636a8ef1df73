# SPDX-License-Identifier: MIT
"""Links to QEMU: the guest's memories, which are shared, and the control channel."""

import contextlib
import json
import mmap
import os
import socket
import sys
from collections.abc import Mapping
from typing import Any

from ...base.deadline import Deadline
from ...base.errors import BoardError, NotHereError
from ...boards.facts import Span

_POLL_S = 0.05


class GuestMemory:
    """Guest memories mapped into this process, addressed by guest address."""

    def __init__(self, memories: Mapping[str, Span]) -> None:
        """Make a memory file for each memory, with the plugin's name."""
        if sys.platform != "linux":
            raise NotHereError("an emulated board")
        self._spans = memories
        self.files: dict[str, int] = {}
        self._maps: dict[str, mmap.mmap] = {}
        try:
            for name, span in memories.items():
                self.files[name] = os.memfd_create(f"ethosu-{name}")
                os.ftruncate(self.files[name], span.size)
                self._maps[name] = mmap.mmap(self.files[name], span.size)
        except BaseException:
            self.close()
            raise

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes at a guest address."""
        memory, start = self._find(address, len(data))
        memory[start : start + len(data)] = bytes(data)

    def read(self, address: int, size: int) -> bytes:
        """Read bytes from a guest address."""
        memory, start = self._find(address, size)
        return memory[start : start + size]

    def close(self) -> None:
        """Unmap the memory."""
        for memory in self._maps.values():
            memory.close()
        for file in self.files.values():
            os.close(file)

    def _find(self, address: int, size: int) -> tuple[mmap.mmap, int]:
        for name, span in self._spans.items():
            if span.holds(address, size):
                return self._maps[name], address - span.start
        raise ValueError(
            f"{size} bytes at {address:#x} are not in the guest's {', '.join(self._spans)}"
        )


class Control:
    """QEMU's control channel (QMP)."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.settimeout(_POLL_S)
        self._received = b""
        self._ready = False
        self._id = 0

    @property
    def fd(self) -> int:
        """Return the end of the channel that is passed to QEMU."""
        return self._theirs.fileno()

    def command(
        self, name: str, deadline: Deadline, *, event: str | None = None, **arguments: object
    ) -> Any:
        """Execute a QEMU command; wait for its result, and for the event, if any.

        Earlier events do not count, such as those of a reset by the guest itself.
        """
        if not self._ready:
            self._ready = True
            self.command("qmp_capabilities", deadline)
        if event:  # earlier events come before the reply to this
            self.command("query-status", deadline)
        missing = {"return"} | ({event} if event else set())
        result = None
        self._id += 1
        request = {"execute": name, "arguments": arguments, "id": self._id}
        try:
            self._ours.sendall(json.dumps(request).encode())
            while missing:
                reply = self._reply(deadline)
                own = reply.get("id") == self._id  # not a late reply
                if own and "error" in reply:
                    raise BoardError(f"QEMU rejected {name}: {reply['error'].get('desc')}")
                if not own and deadline.expired():
                    raise TimeoutError
                result = reply.get("return", result) if own else result
                missing -= {"return"} if own else {reply.get("event")}
        except (OSError, ValueError) as error:
            raise BoardError(f"QEMU did not respond to {name}") from error
        return result

    def close(self) -> None:
        """Close both ends."""
        self._ours.close()
        self._theirs.close()

    def _reply(self, deadline: Deadline) -> dict[str, Any]:
        """Read the next line from QEMU."""
        while b"\n" not in self._received:
            with contextlib.suppress(TimeoutError):
                self._received += self._ours.recv(65536)
            if b"\n" not in self._received and deadline.expired():
                raise TimeoutError
        line, _, self._received = self._received.partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply
