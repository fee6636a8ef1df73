// SPDX-License-Identifier: MIT
/**
 * For MicroPython's select.poll(). Its register() puts an entry into a table, then allocates the
 * entry's object and asks for the stream's ioctl(). If one of the two raises, the entry stays
 * without an object, and poll() or modify() would follow a null pointer.
 */
#ifndef POLL_H
#define POLL_H

#include "py/obj.h"

#define mp_map_slot_is_filled(map, i) \
    (mp_map_slot_is_filled(map, i) && (map)->table[i].value != MP_OBJ_NULL)

/** register() still finds its entry, to complete it. */
static inline mp_map_elem_t *poll_lookup(mp_map_t *map, mp_obj_t key, mp_map_lookup_kind_t kind)
{
    mp_map_elem_t *entry = mp_map_lookup(map, key, kind);
    return entry != NULL && entry->value == MP_OBJ_NULL && kind == MP_MAP_LOOKUP ? NULL : entry;
}
#define mp_map_lookup poll_lookup

#endif
