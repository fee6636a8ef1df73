// SPDX-License-Identifier: MIT
/** Preloaded: another program replaces the file "swapped" just after it was looked at. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fstatat(int folder, const char *name, struct stat *found, int flags)
{
    int result = (int)syscall(SYS_newfstatat, folder, name, found, flags);
    if (strcmp(name, "swapped") == 0) {
        renameat(folder, name, folder, "original");
        renameat(folder, "replacement", folder, name);
    }
    return result;
}
