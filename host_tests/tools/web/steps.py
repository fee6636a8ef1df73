# SPDX-License-Identifier: MIT
"""A user's actions in the page, in a headless Chromium."""

import contextlib
import json
import time

import pytest
from ethosu_tools.base import paths

from host_tests.kit.browser.chromium import Page

PROMPT = (
    "globalThis.ethosuTerminal && ethosuTerminal.buffer.active.getLine("
    "ethosuTerminal.buffer.active.baseY + ethosuTerminal.buffer.active.cursorY)"
    ".translateToString(true).trimEnd() === '>>>'"
)
STATUS = "document.getElementById('status').textContent"
LINK_STATUS = "document.getElementById('link-status').textContent"
ALERT = "(document.getElementById('alert')?.textContent ?? '')"
EQUAL = "It runs, and every bit equals the CPU kernels."
RUNS = "It runs."
FOLDER = paths.root() / "build/web"
PARTS = paths.root() / "build/web_parts"
BROWSERS: set[Page] = set()


def files():
    """Return the folder of the page's files, which is named by their content."""
    return next(FOLDER.glob("*/main.js")).parent


def with_vela(test):
    """Mark a test that needs Vela as WebAssembly as slow, because only `make web` builds it."""
    return pytest.mark.slow(pytest.mark.usefixtures("vela")(test))


@contextlib.contextmanager
def opened(address, *options):
    """Open the page in a browser of its own, and wait for its prompt."""
    with contextlib.closing(Page(*options)) as made, loaded(made, address):
        BROWSERS.add(made)
        try:
            yield made
        finally:
            BROWSERS.remove(made)


@contextlib.contextmanager
def loaded(page, address):
    """Load the page anew, and wait for its prompt; there must be no error at the end."""
    page.messages.clear()
    page.requests.clear()
    page.look(1400, 1000, "light")
    start = time.monotonic()
    page.evaluate("globalThis.isOld = true")
    page.open(address)
    page.wait_for(f"!globalThis.isOld && {PROMPT}")
    print(f"from open to prompt: {time.monotonic() - start:.2f} s")
    yield
    assert not page.messages, page.messages
    assert all(request.startswith((address, "blob:", "data:")) for request in page.requests)


def choose(page, path):
    start = time.monotonic()
    page.evaluate("delete document.body.dataset.done, delete document.body.dataset.timed")
    page.choose_file("#file", path)
    page.wait_for("document.body.dataset.done")
    print(f"from drop to result: {time.monotonic() - start:.2f} s")
    return page.evaluate(STATUS)


def choose_npu(page, npu):
    page.evaluate(
        "(() => { const s = document.getElementById('target');"
        f"s.value = [...s.options].find(o => o.textContent === '{npu}').value;"
        "s.dispatchEvent(new Event('change')); })()"
    )
    page.wait_for(PROMPT)


def type_line(page, text):
    """Paste a line, because each key would take 30 ms; the tests of the keyboard press keys."""
    page.evaluate(f"ethosuTerminal.focus(), ethosuTerminal.paste({json.dumps(text)})")
    page.press("\r")


def click(page, name):
    page.evaluate(f"document.getElementById('{name}').click()")


def run_program(page, example):
    """Run the program of an example."""
    rows = json.loads((PARTS / "examples.json").read_text())
    (program,) = (row["script"] for row in rows if row["name"] == example)
    page.evaluate(f"document.getElementById('script').value = {json.dumps(program)}")
    click(page, "run")
    page.wait_for_screen("(Ctrl-C ends it)", wrong="Traceback")
