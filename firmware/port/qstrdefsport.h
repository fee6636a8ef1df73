// SPDX-License-Identifier: MIT
// Interned strings not found in source files. Empty.
