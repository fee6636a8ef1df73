// SPDX-License-Identifier: MIT
/** See semihosting_files.h. */
#include "pc/semihosting_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/message.h"

/** Characters of a name in a message. */
#define SHOWN 200
#define FOLDER_FLAGS (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define NEW_FILE_MODE 0644

static int folder = -1;
static struct stat identity; /**< of the folder */

void semihosting_files_choose(const char *path)
{
    path = path ? path : ".";
    folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || fstat(folder, &identity) != 0) {
        fatal("files=%s: %s", path, strerror(errno));
    }
}

/** Say why a name is refused, without what could control a terminal; returns -1, with errno. */
static int refuse(const char *name, const char *reason)
{
    char shown[SHOWN + 1];
    snprintf(shown, sizeof shown, "%s", name);
    for (char *c = shown; *c; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    }
    message(MESSAGE_GUEST_ERROR, "semihosting: the file %s is refused: %s", shown, reason);
    errno = EACCES;
    return -1;
}

/** The rest of an absolute name after any name of the folder, or NULL if it has none. */
static const char *below_folder(const char *name)
{
    char start[PATH_MAX];
    struct stat found;
    for (const char *end = name + 1;; end += strcspn(end, "/")) {
        snprintf(start, sizeof start, "%.*s", (int)(end - name), name);
        if (stat(start, &found) == 0 && found.st_dev == identity.st_dev &&
            found.st_ino == identity.st_ino) {
            return end;
        }
        if (!*end) {
            return NULL;
        }
        end += strspn(end, "/");
    }
}

/**
 * May this part of a name be used, if it exists as a file of this type? The kernel is asked for the
 * same when it is opened, since files may change meanwhile.
 */
static int check(int at, const char *part, const char *name, mode_t type)
{
    struct stat found;
    if (strcmp(part, "..") == 0) {
        return refuse(name, "it contains \"..\"");
    }
    if (fstatat(at, part, &found, AT_SYMLINK_NOFOLLOW) != 0 || (found.st_mode & S_IFMT) == type) {
        return 0;
    }
    return refuse(name, S_ISLNK(found.st_mode) ? "it leads through a symbolic link"
                        : type == S_IFDIR      ? "it leads through what is no folder"
                                               : "it is no regular file");
}

/**
 * Open the folder that holds a file; `leaf` is the file's name in it, in `path`.
 *
 * @return a file descriptor, or -1 with errno
 */
static int open_parent(const char *name, char path[PATH_MAX], const char **leaf)
{
    const char *below = *name == '/' ? below_folder(name) : name;
    if (!below) {
        return refuse(name, "it is not below the folder that semihosting may use");
    }
    char *rest = NULL;
    snprintf(path, PATH_MAX, "%s", below);
    const char *part = strtok_r(path, "/", &rest);
    int at = openat(folder, ".", FOLDER_FLAGS);
    *leaf = part ? part : ".";
    while (at >= 0 && (part = strtok_r(NULL, "/", &rest))) {
        int next = check(at, *leaf, name, S_IFDIR) == 0 ? openat(at, *leaf, FOLDER_FLAGS) : -1;
        close(at);
        at = next;
        *leaf = part;
    }
    if (at >= 0 && check(at, *leaf, name, S_IFREG) != 0) {
        close(at);
        at = -1;
    }
    return at;
}

int semihosting_files_open(const char *name, int flags)
{
    char path[PATH_MAX];
    const char *leaf;
    int at = open_parent(name, path, &leaf);
    if (at < 0) {
        return -1;
    }
    // A pipe must not block, nor anything else be emptied.
    int more = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    int file = openat(at, leaf, (flags & ~O_TRUNC) | more, NEW_FILE_MODE);
    close(at);
    struct stat found;
    if (file < 0 || fstat(file, &found) != 0) {
        return -1;
    }
    int failed = S_ISREG(found.st_mode) ? 0 : refuse(name, "it is no regular file");
    if (!failed && flags & O_TRUNC) {
        failed = ftruncate(file, 0);
    }
    if (failed) {
        close(file);
        return -1;
    }
    return file;
}

int semihosting_files_remove(const char *name)
{
    char path[PATH_MAX];
    const char *leaf;
    int at = open_parent(name, path, &leaf);
    if (at < 0) {
        return -1;
    }
    int result = unlinkat(at, leaf, 0);
    close(at);
    return result;
}

int semihosting_files_rename(const char *from, const char *to)
{
    char paths[2][PATH_MAX];
    const char *leaves[2];
    int at = open_parent(from, paths[0], &leaves[0]);
    if (at < 0) {
        return -1;
    }
    int to_at = open_parent(to, paths[1], &leaves[1]);
    int result = to_at < 0 ? -1 : renameat(at, leaves[0], to_at, leaves[1]);
    close(at);
    if (to_at >= 0) {
        close(to_at);
    }
    return result;
}
