// SPDX-License-Identifier: MIT
/**
 * Files of the host that a guest may use: regular files below one folder.
 *
 * No symbolic link is followed below the folder, and no "..", device, pipe or socket is opened,
 * whatever changes meanwhile: a name is resolved one part at a time, each relative to the open
 * folder before it.
 */
#ifndef SEMIHOSTING_FILES_H
#define SEMIHOSTING_FILES_H

/** Use this folder; NULL: the working folder. Ends QEMU with an error message if it can't. */
void semihosting_files_choose(const char *folder);

/**
 * Open a file; absolute names may begin with any name of the folder.
 *
 * @param flags  those of open(2): O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND
 * @return a file descriptor, or -1 with errno; a message says why a name is refused
 */
int semihosting_files_open(const char *name, int flags);

/** Remove a file: 0, or -1 with errno. */
int semihosting_files_remove(const char *name);

/** Rename a file below the folder: 0, or -1 with errno. */
int semihosting_files_rename(const char *from, const char *to);

#endif
