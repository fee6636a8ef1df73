# SPDX-License-Identifier: MIT
"""Drives a headless Chromium by its DevTools protocol over a pair of pipes."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    """Find a Chromium; None if there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def _above(descriptor: int) -> int:
    """Duplicate the file to a descriptor other than 3 or 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return moved


class Page:
    """One page; `messages` has its console errors and warnings, `requests` its addresses."""

    def __init__(self, *more: str) -> None:
        """Start Chromium, with options in addition to those that every test needs."""
        # Processes of Chromium may still write there for a moment after it has ended.
        self._folder = tempfile.TemporaryDirectory(
            prefix="ethosu-chromium-", ignore_cleanup_errors=True
        )
        theirs_in, self._out, self._in, theirs_out = map(_above, (*os.pipe(), *os.pipe()))
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._folder.name}",
            *more,
        ]
        # The protocol uses descriptors 3 and 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", str(find()), *options, "about:blank"],
            pass_fds=[theirs_in, theirs_out],
            stderr=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._buffer = b""
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self._session = ""
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def call(self, method: str, timeout: float = 120, **parameters: Any) -> Any:
        """Call a method of the protocol; returns its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while self._number not in self._answers:
            assert time.monotonic() < deadline, f"{method} was not answered"
            self._receive()
        answer = self._answers.pop(self._number)
        assert "error" not in answer, answer
        return answer["result"]

    def _receive(self) -> None:
        if not select.select([self._in], [], [], 1)[0]:
            return
        data = os.read(self._in, 1 << 20)
        assert data, "Chromium ended"
        self._buffer += data
        *whole, self._buffer = self._buffer.split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message["params"])

    def _note(self, event: str, values: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning"):
            self.messages.append(json.dumps(values["args"]))
        elif event == "Runtime.exceptionThrown":
            self.messages.append(json.dumps(values["exceptionDetails"]))
        elif event == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
            self.messages.append(json.dumps(values["entry"]))
        elif event == "Network.requestWillBeSent":
            self.requests.append(values["request"]["url"])

    def begin_with(self, code: str) -> None:
        """Run this JavaScript at the beginning of each document."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=code)

    def open(self, address: str) -> None:
        """Open an address."""
        self.call("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page."""
        result = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_for(self, expression: str, timeout: float = 240) -> Any:
        """Wait until an expression is true; returns its value."""
        deadline = time.monotonic() + timeout
        while True:
            value = self.evaluate(expression)
            if value:
                return value
            assert time.monotonic() < deadline, f"never came: {expression}; {self.messages}"
            time.sleep(0.1)

    def screen(self) -> str:
        """Return the text in the terminal."""
        lines = (
            "Array.from({length: ethosuTerminal.buffer.active.length}, (_, i) => "
            "ethosuTerminal.buffer.active.getLine(i).translateToString(true)).join('\\n')"
        )
        return str(self.evaluate(lines))

    def wait_for_screen(self, text: str, timeout: float = 240, wrong: str | None = None) -> None:
        """Wait until this text is in the terminal; `wrong` must not appear before."""
        deadline = time.monotonic() + timeout
        while text not in (screen := self.screen()):
            assert not wrong or wrong not in screen, screen
            assert time.monotonic() < deadline, f"never came: {text!r} in {self.screen()!r}"
            time.sleep(0.1)

    def press(self, text: str) -> None:
        """Type into the focused element."""
        for key in text:
            name, number = {"\r": ("Enter", 13), "\t": ("Tab", 9)}.get(key, (key, 0))
            values = {"key": name, "windowsVirtualKeyCode": number, "text": key}
            self.call("Input.dispatchKeyEvent", type="keyDown", **values)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=name)

    def choose_file(self, selector: str, path: Path) -> None:
        """Give a file to an input."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def look(self, width: int, height: int, scheme: str) -> None:
        """Set the window size and the preferred colour scheme, light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path) -> None:
        """Return the whole page as a PNG."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(data["data"]))

    def close(self) -> None:
        """Close Chromium."""
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._folder.cleanup()
