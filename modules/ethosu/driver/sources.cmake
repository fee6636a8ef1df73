# SPDX-License-Identifier: MIT
# The driver's sources for CMake: ETHOSU_DRIVER_SOURCES. defaults.c is only for an archive, whose
# members a linker takes when something in them is defined nowhere else.
file(GLOB ETHOSU_DRIVER_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
list(APPEND ETHOSU_DRIVER_SOURCES ${CMAKE_CURRENT_LIST_DIR}/defaults/defaults.c)

# On the path of each inference.
set(ETHOSU_DRIVER_FAST ethosu_driver.c device.c ethosu_pool.c ethosu_hooks_sync.c ethosu_streams.c
    ethosu_verify.c ethosu_verify_maps.c)
list(TRANSFORM ETHOSU_DRIVER_FAST PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
