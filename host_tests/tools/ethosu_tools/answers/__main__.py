# SPDX-License-Identifier: MIT
"""Makes docs/checked_models.md of copies of the files in foreign.toml, which are not in this tree.

python -m host_tests.tools.ethosu_tools.answers FOLDER writes the page.
"""

import sys
from pathlib import Path

from . import foreign

PAGE = Path(__file__).parents[4] / "docs/checked_models.md"
TEXT = """\
<!-- SPDX-License-Identifier: MIT -->
# Third-party models, checked

`python -m host_tests.tools.ethosu_tools.answers FOLDER` generated this page with
[`ethosu check`](errors.md), of files that this project did not make and does not contain: FOLDER
has copies of them, which are recognised by their git blobs in
`host_tests/tools/ethosu_tools/answers/foreign.toml`. No chip was used: boards are this project's
firmware, whose heap and ROM file system limit a model, and results are those of the simulated NPU,
for three random inputs.

"Exact" compares every value with TFLite's reference kernels on the same file; a compiled file has
no original to compare with. "NPU time" is that of [`ethosu check`](latency.md) for the first
board that runs the file, without CPU operators. "Refused by" are the runtimes of other projects
whose limits the file exceeds, with the first message; [the page of their messages](errors.md)
explains it. The last column is what the runtime that the file was made for does with it, and where
that can be read in its repository.
"""


def main() -> int:
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    PAGE.write_text(TEXT + "\n".join(foreign.table(Path(sys.argv[1]))) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
