# SPDX-License-Identifier: MIT
# The driver's sources for CMake: ETHOSU_DRIVER_SOURCES. Those of defaults/ are only for an archive,
# whose members a linker takes when nothing else defines what is in them.
file(GLOB ETHOSU_DRIVER_SOURCES CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_LIST_DIR}/*.c ${CMAKE_CURRENT_LIST_DIR}/defaults/*.c)

# On the path of each inference.
set(ETHOSU_DRIVER_FAST ethosu_driver.c device.c ethosu_pool.c ethosu_hooks_sync.c ethosu_streams.c
    ethosu_verify.c ethosu_verify_maps.c)
list(TRANSFORM ETHOSU_DRIVER_FAST PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
