// SPDX-License-Identifier: MIT
// Interned strings that no source file names by itself: none.
