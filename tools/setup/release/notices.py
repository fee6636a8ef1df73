# SPDX-License-Identifier: MIT
"""Says which software of others is in a binary file: licence texts, and an SBOM (SPDX 2.3).

It asks the linker: its map names each object and each member of an archive that has bytes in the
file, and the compiler's list of dependencies names what an object was made of, headers included.
For scripts, esbuild's list and source maps say the same. notices.toml claims these files for
components; a file without a claim is an error. The texts come from the fetched sources and from
Debian's packages, so none of them is in this tree. Equal files make equal notices, wherever the
tree is.

    python tools/setup/release/notices.py BOARD...      prints the notices of images
    python tools/setup/release/notices.py FILE MAP      writes those of a file to its folder
"""

import hashlib
import json
import os
import re
import sys
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import packing
from ethosu_tools.base import paths

TEXTS = "THIRD_PARTY.txt"
SBOM = "sbom.spdx.json"
OWN = "micropython-ethosu"
_RULE = "=" * 79
# Sections without bytes in the loaded file.
_APART = (".debug", ".comment", ".ARM.attributes", ".note", ".gnu", ".stab")
_GNU_ROW = re.compile(r"^ (\S*)\s+0x[0-9a-f]{8,16}\s+0x([0-9a-f]+) (/\S.*|\w\S*\.o\)?)$", re.M)
_WASM_ROW = re.compile(r"^ *[0-9a-f-]+ +[0-9a-f]+ +([0-9a-f]+) +(\S+?\.o\)?):\((.*)\)$", re.M)
_MEMBER = re.compile(r"(.*\.a)\(([^)]*)\.o\)")
_COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+|(?:^#[^\n!]*\n)+", re.S | re.M)
_HEAD = re.compile(r"\s*(?:(?:/\*.*?\*/|//[^\n]*\n|#[^\n]*\n)\s*)*", re.S)
_NOTICE = re.compile(r"copyright|licen[cs]e|public domain", re.I)
_COPYRIGHT = re.compile(r"(?:copyright|SPDX-FileCopyrightText:) (?:\(c\) .*|.*\d{4}.*)", re.I)
_MIT = re.compile(r"Permission is hereby granted, free of charge|MIT licen[cs]e|@license MIT", re.I)
# Headers of C++ may have no ending.
_SOURCES = ("", ".c", ".cpp", ".css", ".h", ".hpp", ".mjs", ".py", ".s", ".S", ".ts")
_HEADING = """\
Software of others in {title}

micropython-ethosu itself has the MIT licence: see the file LICENSE. The files that are listed below
contain parts of the following components, according to the linker. sbom.spdx.json has the same
list for programs."""


class NoticeError(Exception):
    """What a binary file was made of, or its licence, is not known."""


class Binary(NamedTuple):
    """A file that is given away: its name there, its bytes, and the files that it was made of."""

    name: str
    data: bytes
    inputs: frozenset[str]


class Row(NamedTuple):
    """A component, as in notices.toml."""

    name: str
    licence: str
    files: Sequence[str]
    texts: Sequence[str | Sequence[str]] = ()
    version: Sequence[str] = ()
    part_of: str = ""
    apart: str = ""


class Component(NamedTuple):
    """A component, and what was taken of it."""

    row: Row
    version: str
    inputs: tuple[str, ...]


@cache
def table() -> tuple[Row, ...]:
    """Read the core's tables, then those of add-ons."""
    tools = paths.root() / "tools"
    places = "setup/release/notices*.toml", "*/notices.toml"
    files = [file for place in places for file in sorted(tools.glob(place))]
    return tuple(
        Row(name, **row) for file in files for name, row in tomllib.loads(file.read_text()).items()
    )


def canonical(name: str, base: Path, root: Path) -> str:
    """Name a file as in the tree if it is there; what the linker names may be another clone's."""
    full = os.path.normpath(name if name.startswith("/") else base / name)
    if full.startswith(f"{root}/"):
        return full.removeprefix(f"{root}/")
    _, build, rest = full.partition("/build/")
    of_build = f"build/{rest}"
    return of_build if build and (root / _MEMBER.sub(r"\1", of_build)).exists() else full


def linked(map_file: Path) -> list[str]:
    """List objects and members of archives that have bytes in the file of a map."""
    text, root = map_file.read_text(errors="replace"), paths.root()
    _, memory, gnu = text.partition("\nLinker script and memory map\n")
    found = set()
    if memory:
        # A long name of a section has a line of its own.
        for section, size, name in _GNU_ROW.findall(
            re.sub(r"^( \.\S+)\n +", r"\1 ", gnu, flags=re.M)
        ):
            if int(size, 16) and not section.startswith(_APART):
                found.add(name)
    else:
        for size, name, section in _WASM_ROW.findall(text):
            if int(size, 16) and not section.startswith(_APART):
                found.add(name)
    if not found:
        raise NoticeError(f"{map_file}: not a map of a linker that is known here")
    return sorted(canonical(name, map_file.parent, root) for name in found)


def _dependencies(file: Path, root: Path) -> Iterator[str]:
    """Read a list of dependencies: absolute, or relative to where the compiler ran."""
    parts = file.relative_to(root).parts[1:-1]
    folders = "tools/", "", "modules/ethosu/"
    places = [f"{folder}{part}" for part in parts for folder in folders]
    base = next((path for place in places if (path := root / place).is_dir()), root)
    rule = file.read_text().replace("\\\n", " ").split("\n", 1)[0]
    for word in rule.split()[1:]:
        yield canonical(word, base, root)


def _frozen(folder: Path, micropython: str) -> Iterator[str]:
    """Name the Python sources of the modules that are frozen into an image."""
    root = paths.root()
    places = (
        "firmware/modules",
        "modules/*",
        "modules/*/*/python",
        "modules/*/*",
        f"{micropython}/extmod",
        f"{micropython}/extmod/asyncio",
    )
    for file in sorted(folder.rglob("*.mpy")):
        name = file.relative_to(folder).with_suffix(".py")
        found = [path for place in places for path in sorted(root.glob(f"{place}/{name}"))]
        yield str(found[0].relative_to(root)) if found else f"frozen {name}"


@cache
def sources(item: str) -> tuple[str, ...]:
    """Name the files that an object or a member of an archive was made of, if that is known."""
    root, member = paths.root(), _MEMBER.fullmatch(item)
    if not item.startswith("build/"):
        return (item,)
    if member:
        # Objects that images share are not where the archive is.
        places = (
            (root / member[1]).parent,
            Path(*(root / item).parts[: len(root.parts) + 3], "common"),
        )
        lists = [file for place in places for file in sorted(place.rglob(f"{member[2]}.[dP]"))]
    else:
        lists = [file for end in (".d", ".P") if (file := (root / item).with_suffix(end)).is_file()]
    made_of = list(_dependencies(lists[0], root)) if lists else [item]
    if item.endswith("/frozen_content.o"):
        trees = [
            each.removesuffix("/py/mpconfig.h")
            for each in made_of
            if each.endswith("/py/mpconfig.h")
        ]
        made_of += _frozen((root / item).parent / "frozen_mpy", *trees)
    return tuple(made_of)


def inputs(map_file: Path) -> frozenset[str]:
    """Return all files that the linked file of a map was made of."""
    if not map_file.is_file():
        raise NoticeError(f"{map_file} is missing: build what it is the map of")
    return frozenset(each for item in linked(map_file) for each in sources(item))


def _mapped(file: Path) -> list[Path]:
    """Name what a script of a package was made of, if its source map is beside it."""
    if not (listed := file.with_name(f"{file.name}.map")).is_file():
        return [file]
    return [file.parent / name for name in json.loads(listed.read_text())["sources"]]


def bundled(metafile: Path, base: Path) -> dict[str, frozenset[str]]:
    """Return the files with bytes in each script, by esbuild's list; it was run in `base`."""
    return {
        Path(script).name: frozenset(
            canonical(str(each), base, paths.root())
            for name, taken in facts["inputs"].items()
            if taken["bytesInOutput"]
            for each in _mapped(base / name)
        )
        for script, facts in json.loads(metafile.read_text())["outputs"].items()
    }


def claims(files: Iterable[str]) -> list[Component]:
    """Sort files by components; an error names files that no row or more than one claims."""
    taken: dict[str, dict[str, str]] = defaultdict(dict)
    wrong = []
    for file in sorted(files):
        hits = [
            (row, hit) for row in table() for each in row.files if (hit := re.match(each, file))
        ]
        if len(hits) == 1:
            ((row, hit),) = hits
            taken[row.name][file] = hit.groupdict().get("version") or ""
        else:
            wrong.append(f"{file} ({' and '.join(row.name for row, _ in hits) or 'no row'})")
    if wrong:
        raise NoticeError(f"notices.toml must claim each file once: {', '.join(wrong)}")
    return [
        Component(row, _version(row, set(taken[row.name].values())), tuple(taken[row.name]))
        for row in table()
        if row.name in taken
    ]


def _version(row: Row, found: set[str]) -> str:
    if row.version:
        file, pattern = row.version
        hit = re.search(pattern, _read(file, row))
        if not hit:
            raise NoticeError(f"{row.name}: {file} does not say its version")
        return hit[1]
    return ", ".join(sorted(found - {""}))


def _read(pattern: str, row: Row) -> str:
    """Read the file of a pattern; of several, as with releases of a package, the last."""
    root = paths.root()
    found = sorted(Path("/").glob(str(root / pattern).lstrip("/")))
    if not found:
        raise NoticeError(f"{row.name}: {pattern} is missing")
    return found[-1].read_text(errors="replace")


def texts(component: Component) -> list[str]:
    """Return the licence texts of a component: files, or a part of one, by a regular expression."""
    made = []
    for each in component.row.texts:
        name, pattern = (each, r"(?s)(.*)") if isinstance(each, str) else each
        hit = re.search(pattern, _read(name.format(version=component.version), component.row))
        if not hit:
            raise NoticeError(f"{component.row.name}: {name} has no {pattern}")
        made.append("\n".join(line.rstrip() for line in hit[1].strip("\n").splitlines()))
    return made


def heads(component: Component) -> tuple[list[str], list[str]]:
    """Return the copyright lines of its sources, and notices besides its licence."""
    lines, notices, root = {}, {}, paths.root()
    for name in component.inputs:
        file = root / name
        if file.suffix not in _SOURCES or not file.is_file():
            continue
        head = _HEAD.match(file.read_text(errors="replace"))
        for comment in _COMMENT.findall(head[0] if head else ""):
            if _NOTICE.search(comment):
                found = [line.strip(" */\t") for line in _COPYRIGHT.findall(comment)]
                lines |= dict.fromkeys(found)
                if component.row.licence not in _named(comment):
                    notices["\n".join(map(str.rstrip, comment.strip().splitlines()))] = None
    return sorted(lines), list(notices)


def _named(comment: str) -> set[str]:
    """Return the licences that a comment names without more of their text than a reference."""
    found = set(re.findall(r"SPDX-License-Identifier: ([\w.-]+(?: WITH [\w.-]+)?)", comment))
    return found | {"MIT"} if _MIT.search(comment) else found


def _licences(components: Iterable[Component]) -> str:
    found = {each.row.licence for each in components if not each.row.apart} | {"MIT"}
    return " AND ".join(f"({each})" if " OR " in each else each for each in sorted(found))


def _page(title: str, binaries: Sequence[Binary], components: Sequence[Component]) -> str:
    """Write the licence texts, each of them once."""
    parts = [_HEADING.format(title=title)]
    written: dict[str, str] = {}
    for each in components:
        row = each.row
        lines, notices = heads(each)
        names = [file.name for file in binaries if not file.inputs.isdisjoint(each.inputs)]
        where = f", in {row.part_of}" if row.part_of else ""
        facts = [f"{row.name}{where} {each.version}".strip(), f"Licence: {row.licence}"]
        facts += [f"Part of: {row.part_of}"] * bool(row.part_of) + [
            f"Not contained: {row.apart}"
        ] * bool(row.apart)
        facts += [f"In: {', '.join(names)}"]
        alone = [line for line in lines if not any(line in notice for notice in notices)]
        body = ["\n".join(alone)] if alone else []
        for text in [*notices, *texts(each)]:
            above = written.setdefault(text, row.name)
            body.append(text if above == row.name else f"Its text is the one above, of {above}.")
        parts.append("\n".join([_RULE, *facts, _RULE]) + "\n\n" + "\n\n".join(body))
    return "\n\n".join(parts) + "\n"


def _id(kind: str, name: str) -> str:
    return f"SPDXRef-{kind}-{re.sub(r'[^A-Za-z0-9.]+', '-', name).strip('-')}"


def _document(
    title: str, binaries: Sequence[Binary], components: Sequence[Component]
) -> dict[str, Any]:
    """Write the SBOM: the files, their components, and what is in what."""
    root = _id("Package", title)
    unknown = {
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "copyrightText": "NOASSERTION",
    }
    packages = [
        {
            "SPDXID": root,
            "name": title,
            "versionInfo": version("ethosu-tools"),
            **unknown,
            "licenseConcluded": _licences(components),
            "licenseDeclared": "MIT",
        }
    ]
    files, relations, extracted = [], [("SPDXRef-DOCUMENT", "DESCRIBES", root)], {}
    for each in components:
        row = each.row
        lines, notices = heads(each)
        packages.append(
            {
                "SPDXID": _id("Package", row.name),
                "name": row.name,
                **({"versionInfo": each.version} if each.version and not row.part_of else {}),
                **unknown,
                "copyrightText": "\n".join(lines) or "NOASSERTION",
                "licenseConcluded": row.licence,
                "licenseDeclared": row.licence,
                **({"comment": f"in {row.part_of} {each.version}".rstrip()} if row.part_of else {}),
            }
        )
        if row.licence.startswith("LicenseRef-"):
            extracted[row.licence] = "\n\n".join([*notices, *texts(each)])
    for binary in binaries:
        within = [each for each in components if not binary.inputs.isdisjoint(each.inputs)]
        name = _id("File", binary.name)
        files.append(
            {
                "SPDXID": name,
                "fileName": f"./{binary.name}",
                "checksums": [
                    {"algorithm": kind, "checksumValue": hashlib.new(kind, binary.data).hexdigest()}
                    for kind in ("SHA1", "SHA256")
                ],
                "licenseConcluded": _licences(within),
                "copyrightText": "NOASSERTION",
            }
        )
        relations.append((name, "EXPANDED_FROM_ARCHIVE", root))
        relations += [
            (name, "DYNAMIC_LINK" if each.row.apart else "CONTAINS", _id("Package", each.row.name))
            for each in within
        ]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": title,
        "packages": packages,
        "files": files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
        "hasExtractedLicensingInfos": [
            {"licenseId": name, "extractedText": text} for name, text in sorted(extracted.items())
        ],
    }


def of(title: str, binaries: Sequence[Binary]) -> dict[str, bytes]:
    """Return the notices of files that are given away together: licence texts and SBOM."""
    components = claims({name for binary in binaries for name in binary.inputs})
    components = [each for each in components if each.row.name != OWN]
    document = _document(title, binaries, components)
    digest = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).digest()
    moment = datetime.fromtimestamp(int(packing.epoch()), UTC)
    document |= {
        "documentNamespace": uuid.UUID(bytes=digest[:16], version=5).urn,
        "creationInfo": {
            "created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "creators": [f"Tool: {OWN}-notices-{version('ethosu-tools')}"],
        },
    }
    page = _page(title, binaries, components)
    return {TEXTS: page.encode(), SBOM: (json.dumps(document, indent=2) + "\n").encode()}


def image(folder: Path, name: str, data: Path) -> Binary:
    """Return an image of firmware as a file that is given away."""
    return Binary(name, data.read_bytes(), inputs(folder / "firmware.map"))


def for_image(board: str) -> dict[str, bytes]:
    """Return the notices of a board's image."""
    folder = paths.root() / "build/firmware" / board
    files = [file for end in ("elf", "bin") if (file := folder / f"firmware.{end}").is_file()]
    return of(f"{OWN}-{board}", [image(folder, file.name, file) for file in files])


def write(folder: Path, title: str, binaries: Sequence[Binary]) -> None:
    """Write the notices of files to the folder in which they are given away."""
    for name, data in of(f"{OWN}-{title}", binaries).items():
        (folder / name).write_bytes(data)


def main(words: Sequence[str]) -> str:
    """Print the licence texts of images, or write a file's; returns an error message, or ""."""
    try:
        if words[-1].endswith(".map"):
            file, made_of = Path(words[0]), inputs(Path(words[1]).absolute())
            write(file.parent, file.name, [Binary(file.name, file.read_bytes(), made_of)])
            return ""
        for board in words:
            print(for_image(board)[TEXTS].decode())
    except NoticeError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
