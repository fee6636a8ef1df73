# SPDX-License-Identifier: MIT
# Module `ethosu` for a MicroPython port that is built with CMake: a port gives
# USER_C_MODULES=<tree>/modules/ethosu/micropython.cmake, and ethosu_board.h's functions.
#
# What is compiled, and how, says micropython.mk, which this file asks through make; the options of
# that file are CMake variables here: -DETHOSU_NPUS="u55 u85".

set(ETHOSU_DIR ${CMAKE_CURRENT_LIST_DIR})
find_program(ETHOSU_MAKE NAMES gmake make)
if(NOT ETHOSU_MAKE)
    message(FATAL_ERROR "ethosu: GNU make was not found; micropython.cmake asks it for the sources")
endif()

set(ETHOSU_OPTIONS)
foreach(name ETHOSU_NPUS ETHOSU_KERNELS ETHOSU_WITHOUT ETHOSU_STREAMS)
    if(DEFINED ${name})
        list(APPEND ETHOSU_OPTIONS "${name}=${${name}}")
    endif()
endforeach()

# ethosu_ask(VARIABLE EXPRESSION): a list of words that micropython.mk knows.
function(ethosu_ask variable expression)
    execute_process(
        COMMAND ${ETHOSU_MAKE} -s --no-print-directory -f ${ETHOSU_DIR}/micropython.mk
            "--eval=ethosu-ask:;$(info ${expression})@:" ethosu-ask
            USERMOD_DIR=${ETHOSU_DIR} BUILD= CMSIS_NN_DIR= ETHOSU_DEINIT=no ${ETHOSU_OPTIONS}
        OUTPUT_VARIABLE words ERROR_VARIABLE said RESULT_VARIABLE failed
        OUTPUT_STRIP_TRAILING_WHITESPACE
    )
    if(failed)
        message(FATAL_ERROR "ethosu: ${said}")
    endif()
    separate_arguments(words UNIX_COMMAND "${words}")
    set(${variable} ${words} PARENT_SCOPE)
endfunction()

ethosu_ask(ETHOSU_SOURCES "$(SRC_USERMOD_C)")
ethosu_ask(ETHOSU_FAST_SOURCES "$(addprefix $(ETHOSU_DIR)/,$(ETHOSU_FAST_SRC))")
ethosu_ask(ETHOSU_FLAGS "$(filter-out -idirafter -I$(ETHOSU_DIR) -I$(ETHOSU_DIR)/% $(ETHOSU_DIR)/%,$(CFLAGS_USERMOD))")
ethosu_ask(ETHOSU_FOLDERS "$(filter $(ETHOSU_DIR) $(ETHOSU_DIR)/%,$(CFLAGS_USERMOD:-I%=%))")
ethosu_ask(ETHOSU_LINK "$(LDFLAGS_USERMOD)")

# Code that runs at each inference, or for each number, is compiled for speed, the rest for size.
set_source_files_properties(${ETHOSU_SOURCES} PROPERTIES COMPILE_OPTIONS -Os)
set_source_files_properties(${ETHOSU_FAST_SOURCES} PROPERTIES COMPILE_OPTIONS -O2)

add_library(usermod_ethosu INTERFACE)
target_sources(usermod_ethosu INTERFACE ${ETHOSU_SOURCES})
target_include_directories(usermod_ethosu INTERFACE ${ETHOSU_FOLDERS})
target_compile_options(usermod_ethosu INTERFACE ${ETHOSU_FLAGS})
# As in micropython.mk; a macro with semicolons is no option for CMake.
if(NOT ETHOSU_DEINIT STREQUAL "no")
    set(ETHOSU_DEINIT_HEADER ${CMAKE_CURRENT_BINARY_DIR}/ethosu_deinit.h)
    file(WRITE ${ETHOSU_DEINIT_HEADER}.new "#define MICROPY_PORT_DEINIT_FUNC \\
    {extern void ethosu_deinit_all(void); ethosu_deinit_all();}\n")
    configure_file(${ETHOSU_DEINIT_HEADER}.new ${ETHOSU_DEINIT_HEADER} COPYONLY)
    target_compile_options(usermod_ethosu INTERFACE "SHELL:-include ${ETHOSU_DEINIT_HEADER}")
endif()
target_link_options(usermod_ethosu INTERFACE ${ETHOSU_LINK})
target_link_libraries(usermod INTERFACE usermod_ethosu)
