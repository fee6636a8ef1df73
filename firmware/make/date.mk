# SPDX-License-Identifier: MIT
# The date of all that is released, whenever it is built: in the banner, in archives, in the book.
# 2026-01-01, unless the user says otherwise; tools/setup/release/packing.py reads it here, too.
export SOURCE_DATE_EPOCH ?= 1767225600
