// SPDX-License-Identifier: MIT
/**
 * Tells quickly that a file does not exist. `import` looks for most modules in vain in / and /lib
 * first: three times each, for a folder, .py and .mpy. LittleFS reads and checks the folder anew
 * each time, 13,000 instructions at least.
 *
 * Of the names in these two folders, a bit of their hash is kept until a disk is written to. A name
 * without its bit does not exist. All others are left to LittleFS.
 */
#include <stdbool.h>
#include <string.h>

#include "disk.h"
#include "lib/littlefs/lfs2.h"

#define BITS_PER_WORD 32u
#define WORDS 8u

struct folder {
    bool known;
    uint32_t bits[WORDS];
};

static struct folder root;
static struct folder lib;
/** Of which disk, and after which write to it. */
static const struct disk *known_disk;
static uint32_t known_changes;

static unsigned hash_name(const char *name, size_t size)
{
    uint32_t hash = 5381; // Bernstein's hash, as MicroPython uses for its own strings
    for (size_t i = 0; i < size; i++) {
        hash = (hash * 33) ^ (uint8_t)name[i];
    }
    return (hash ^ (hash >> 8)) % (WORDS * BITS_PER_WORD);
}

static bool read_folder(lfs2_t *lfs, struct folder *folder)
{
    lfs2_dir_t listing;
    struct lfs2_info entry;
    memset(folder->bits, 0, sizeof(folder->bits));
    if (lfs2_dir_open(lfs, &listing, folder == &lib ? "/lib" : "/") < 0) {
        return false;
    }
    int more;
    while ((more = lfs2_dir_read(lfs, &listing, &entry)) > 0) {
        unsigned bit = hash_name(entry.name, strlen(entry.name));
        folder->bits[bit / BITS_PER_WORD] |= 1u << (bit % BITS_PER_WORD);
    }
    return lfs2_dir_close(lfs, &listing) == 0 && more == 0;
}

static bool may_have(lfs2_t *lfs, struct folder *folder, const char *name, size_t size)
{
    folder->known = folder->known || read_folder(lfs, folder);
    unsigned bit = hash_name(name, size);
    return !folder->known || (folder->bits[bit / BITS_PER_WORD] >> (bit % BITS_PER_WORD)) & 1;
}

/** The C library's strstr() takes 1 KB. */
static bool has_dot_name(const char *path)
{
    for (; *path != 0; path++) {
        if (path[0] == '/' && path[1] == '.') {
            return true;
        }
    }
    return false;
}

/** Whether a file certainly does not exist. Paths with "." and ".." are left to LittleFS. */
static bool is_missing(lfs2_t *lfs, const char *path)
{
    const struct disk *disk = disk_of(lfs->cfg->context);
    path += strspn(path, "/");
    if (disk == NULL || *path == 0 || *path == '.' || has_dot_name(path)) {
        return false;
    }
    if (known_disk != disk || known_changes != disk_changes()) {
        known_disk = disk;
        known_changes = disk_changes();
        root.known = false;
        lib.known = false;
    }
    size_t size = strcspn(path, "/");
    if (!may_have(lfs, &root, path, size)) {
        return true;
    }
    bool in_lib = size == 3 && memcmp(path, "lib", 3) == 0;
    path += size;
    path += strspn(path, "/");
    return in_lib && *path != 0 && !may_have(lfs, &lib, path, strcspn(path, "/"));
}

/** Takes the place of lfs2_stat() in MicroPython's extmod/vfs_lfs.c. */
int disk_names_stat(lfs2_t *lfs, const char *path, struct lfs2_info *info);
int disk_names_stat(lfs2_t *lfs, const char *path, struct lfs2_info *info)
{
    return is_missing(lfs, path) ? LFS2_ERR_NOENT : lfs2_stat(lfs, path, info);
}
