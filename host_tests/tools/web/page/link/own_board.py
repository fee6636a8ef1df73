# SPDX-License-Identifier: MIT
"""A user's actions in the panel of the own board."""

import base64
import random
import zipfile
from pathlib import Path

from ethosu_tools import boards
from ethosu_tools.link.flash.archive import pack

from ...steps import click

HERE = Path(__file__).parent
OWN_STATUS = "document.getElementById('own-status').textContent"
IDLE = "document.getElementById('own-flash')?.disabled === false"
# Waits of page and stand-ins are all shorter by the same factor, so that their order stays.
SHORTER = (
    "(() => { const real = setTimeout;"
    "globalThis.setTimeout = (act, ms, ...more) => real(act, ms / 20, ...more); })()"
)
# For Himax's boot loader: its image, which is no multiple of a block.
IMAGE = b"ckBS" + random.Random(1).randbytes(24 * 128 + 50)


def opened_panel(page):
    """Load the stand-ins, and open the panel."""
    for name in ("serial_port", "himax_loader", "dfu_device"):
        page.evaluate(f"{{ {(HERE / f'{name}.js').read_text()} }} 0")
    page.evaluate(SHORTER)
    page.evaluate("document.getElementById('own').open = true")
    page.wait_for(IDLE)
    return page


def choose_board(page, at, *paths):
    """Choose a board of the list by its number, and its files."""
    page.evaluate(
        f"(() => {{ const s = document.getElementById('own-board'); s.selectedIndex = {at};"
        "s.dispatchEvent(new Event('change')); })()"
    )
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root, selector="#own-image")["nodeId"]
    page.call("DOM.setFileInputFiles", files=[str(path) for path in paths], nodeId=node)


def press(page, name):
    """Press a button and wait until the panel is idle again; returns what it says."""
    click(page, f"own-{name}")
    page.wait_for(IDLE)
    return page.evaluate(OWN_STATUS)


def bytes_of(page, expression):
    """Return an array of bytes of the page."""
    text = page.evaluate(f"btoa(Array.from({expression}, b => String.fromCharCode(b)).join(''))")
    return base64.b64decode(text)


def archive(path, board, **files):
    """Make an archive as a release has it; names with _ for a dot."""
    named = {name.replace("_", "."): data for name, data in files.items()}
    return zipped(path, pack(boards.load(board), named))


def zipped(path, files):
    """Make an archive of these files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return path


def cancel(page, when):
    """Press "Flash", and "Cancel" twice as soon as `when` is true; returns what the panel says."""
    page.evaluate(
        "{ const cancel = document.getElementById('own-cancel');"
        "const timer = setInterval(() => {"
        f"if (!cancel.hidden && ({when})) {{"
        " clearInterval(timer); cancel.click(); cancel.click(); } }, 1); } 0"
    )
    return press(page, "flash")
