# SPDX-License-Identifier: MIT
# The driver's sources for CMake. ETHOSU_DRIVER_SOURCES: without weak functions. ETHOSU_DRIVER_DEFAULTS: the
# weak functions, for an archive that is linked last. ETHOSU_DRIVER_HOOKS: their names.
file(GLOB ETHOSU_DRIVER_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
set(ETHOSU_DRIVER_DEFAULTS arm_ethos_io_memcpy.c defaults/defaults.c ethosu_hooks.c ethosu_hooks_sync.c
    ethosu_irq.c)
list(TRANSFORM ETHOSU_DRIVER_DEFAULTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(REMOVE_ITEM ETHOSU_DRIVER_SOURCES ${ETHOSU_DRIVER_DEFAULTS})
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/hooks.ld ETHOSU_DRIVER_HOOKS REGEX "^EXTERN")
list(TRANSFORM ETHOSU_DRIVER_HOOKS REPLACE "EXTERN\\((.*)\\)" "\\1")

# On the path of each inference.
set(ETHOSU_DRIVER_FAST ethosu_driver.c device.c ethosu_pool.c ethosu_hooks_sync.c ethosu_irq.c
    ethosu_streams.c ethosu_verify.c ethosu_verify_maps.c ethosu_verify_products.c)
list(TRANSFORM ETHOSU_DRIVER_FAST PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
