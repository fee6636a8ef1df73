# SPDX-License-Identifier: MIT
"""`ethosu bench image` counts each way to write a picture."""

import json


def test_instructions_for_a_pixel_are_counted(ethosu):
    code, out, err = ethosu("bench", "image", "--json")
    assert (code, err) == (0, "")
    rows = json.loads(out)["rows"]
    counts = {(row["format"], row["channels"], row["filter"]): row["per_pixel"] for row in rows}
    assert len(counts) == len(rows) == 18
    # With MVE; without it no bilinear pixel of 3 channels takes less: docs/pictures.md.
    assert all(1 < count < 60 for (_, _, how), count in counts.items() if how == "BILINEAR")
    code, text, _ = ethosu("bench", "image")
    assert code == 0 and f"{counts['RGB565', 3, 'AREA']:,.1f}" in text
