# SPDX-License-Identifier: MIT
# The driver's sources for CMake. ETHOSU_DRIVER_SOURCES: without weak functions. ETHOSU_DRIVER_DEFAULTS: the
# weak functions, for an archive that is linked last. ETHOSU_DRIVER_HOOKS: their names.
file(GLOB ETHOSU_DRIVER_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*/*.c)
set(ETHOSU_DRIVER_DEFAULTS board/arm_ethos_io_memcpy.c board/defaults/defaults.c board/ethosu_hooks.c
    board/ethosu_hooks_sync.c job/ethosu_irq.c)
list(TRANSFORM ETHOSU_DRIVER_DEFAULTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(REMOVE_ITEM ETHOSU_DRIVER_SOURCES ${ETHOSU_DRIVER_DEFAULTS})
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/hooks.ld ETHOSU_DRIVER_HOOKS REGEX "^EXTERN")
list(TRANSFORM ETHOSU_DRIVER_HOOKS REPLACE "EXTERN\\((.*)\\)" "\\1")

# On the path of each inference.
set(ETHOSU_DRIVER_FAST job/ethosu_driver.c device/device.c job/ethosu_pool.c board/ethosu_hooks_sync.c
    job/ethosu_irq.c job/ethosu_streams.c verify/ethosu_verify.c verify/ethosu_verify_maps.c
    verify/ethosu_verify_products.c)
list(TRANSFORM ETHOSU_DRIVER_FAST PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
