# SPDX-License-Identifier: MIT
"""Common parts of pictures: style for light and dark backgrounds, colours, short names."""

# One palette per kind of object, so that a colour has one meaning on a page.
UNITS = ("#2f7ab8", "#5a4fb3", "#7b8794", "#274c77", "#8ab6d6", "#a39bd3", "#4a5560")
MEMORIES = ("#c0392b", "#e58e83", "#8a6d1d", "#d9b84a", "#3b7a57", "#8fc7a8", "#6b3e26", "#b98b6f")

STYLE = """\
text { font: 12px sans-serif; fill: #333 }
.title { font-weight: bold; font-size: 14px }
.name { fill: #fff }
.paper { fill: #fff }
.frame { fill: none; stroke: #999 }
.block { stroke: #fff; stroke-width: 1 }
.tensor { fill: #5b9bd5 }
.fixed { fill: #2f5d8a }
.inside { fill: #4f9d69 }
.scratch { fill: #e08a1e }
.npu { fill: #d9dee4 }
.old { stroke: #c0392b; stroke-dasharray: 5 4 }
.roof { fill: none; stroke: #2f5d8a; stroke-width: 2 }
.layer { fill: #e08a1e; fill-opacity: 0.7 }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .name { fill: #fff } .paper { fill: #16191d } .frame { stroke: #777 }
.block { stroke: #16191d } .npu { fill: #343b44 } .roof { stroke: #7fb2e5 } .fixed { fill: #3f78b0 }
}"""


def shorten(name: str, longest: int) -> str:
    """Shorten a name to `longest` letters in the middle: names of layers differ at both ends."""
    if len(name) <= longest:
        return name
    end = (longest - 1) // 2
    return f"{name[: longest - 1 - end]}\N{HORIZONTAL ELLIPSIS}{name[-end:]}"
