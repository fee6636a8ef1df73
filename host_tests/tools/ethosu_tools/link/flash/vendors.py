# SPDX-License-Identifier: MIT
"""Data that vendors' programs accept, as `test_real_tools.py` finds out from them.

Stand-ins of Alif's toolkit that refuse what the real one refuses.
"""

from ethosu_tools import boards

# MicroPython's edition, v1.110.0.
TOOLKIT = "https://github.com/micropython/alif-security-toolkit"
COMMIT = "e726c72c32ef9d3f2bd5565ecfe6a7db775839aa"

_CHIP = {"--cfg-part", "--cfg-rev", "--cfg-jtag", "--cfg-mram"}
_ALL = {"--help", "--verbose", "--version"} | _CHIP
OPTIONS = {
    "app-gen-toc.py": _ALL
    | {"--cfg-binary", "--clean", "--filename", "--firmware-dir", "--output", "--output-dir"},
    "app-write-mram.py": _ALL
    | {"--auth_image", "--baudrate", "--comport", "--discover", "--erase", "--images"}
    | {"--no_reset", "--pad", "--port", "--skip", "--switch"},
    "updateSystemPackage.py": _ALL
    | {"--baudrate", "--discover", "--memory", "--no_authentication", "--no_reset", "--port"}
    | {"--switch"},
    "maintenance.py": _ALL | {"--baudrate", "--comport", "--discover", "--option", "--port"},
    "dfu-util": {"-w", "-d", "-a", "--reset", "-D", "-V"},
    "pyocd": {"--no-wait", "--target"},
}
# Parts with their revisions, and files with a device's configuration.
REVISIONS = {
    "AE722F80F55D5LS": ["B4"],
    "AE822FA0E5597LS0": ["A0", "A1"],
    "AE302F80F55D5AE": ["B4"],
}
DEVICE_CONFIGS = {
    "app-device-config.json",
    "app-device-config-ae3.json",
    "app-device-config-ae7.json",
}

_PARSE = f"""\
import json, pathlib, sys
known = {OPTIONS!r}[pathlib.Path(sys.argv[0]).name]
given = {{}}
for word in sys.argv[1:]:
    if word.startswith("--"):
        if word not in known:
            sys.exit(f"unrecognized arguments: {{word}}")
        given[word], name = True, word
    else:
        given[name] = word
if given["--cfg-rev"] not in {REVISIONS!r}[given["--cfg-part"]]:
    sys.exit("Revision is invalid!")
"""
GENERATE = f"""{_PARSE}
table = json.loads(pathlib.Path(given["--filename"]).read_text())
if table["DEVICE"]["binary"] not in {DEVICE_CONFIGS!r}:
    sys.exit("no such device configuration")
row = table["MICROPYTHON"]
image = pathlib.Path(given["--firmware-dir"], row["binary"])
image.read_bytes()
pathlib.Path(given["--output"]).write_text(given["--cfg-part"] + row["cpu_id"])
package = f"set semihosting args {{image}} {{row['mramAddress']}} {{given['--output']}} 0x8057f830"
pathlib.Path(given["--output-dir"], "application_package.ds").write_text(package + "\\ncontinue\\n")
"""
WRITE = f"""{_PARSE}
package = pathlib.Path(given["--images"].removeprefix("file:")).read_text()
words = package[package.find("args") + 5 : package.find("continue")].strip().split(" ")
mram = [(pathlib.Path(file).read_bytes().hex(), address)
    for file, address in zip(words[::2], words[1::2])]
print(f"[INFO] port override {{given['--port']}}")
if given["--port"] == "WRONG":
    print("[ERROR] *** Part Revision mismatch detected!\\n  Expected: B4\\n  Detected: B3")
    print("Continue with operation [y/n]?")
    if input("> ") != "y":
        print("[INFO] Operation aborted\\n")
        sys.exit(1)
if given["--port"] == "NONE":
    print("\\x1b[31m[ERROR] isp openSerial failed for NONE\\x1b[0m")
    sys.exit(1)
(pathlib.Path(sys.argv[0]).parent / "mram").write_text(json.dumps(mram))
"""


def alif_boards():
    """The boards that Alif's toolkit flashes, by name, with their settings."""
    rows = {name: boards.load(name).flash.get("alif") for name in boards.names()}
    return {name: settings for name, settings in rows.items() if settings}
