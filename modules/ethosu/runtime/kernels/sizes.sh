#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints how many bytes of code and constants each CPU kernel adds to a firmware, largest first,
# and what the first of them brings along for all.
#
#   sizes.sh BUILD_FOLDER [CFLAGS]

set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$1
flags=${2:--mcpu=cortex-m55 -mthumb -mfloat-abi=hard -O2}
cross=${CROSS_COMPILE:-arm-none-eabi-}
shared="kernel copy quantization nd integers unary weighted"
module=$here/../..

mkdir -p "$build"
rm -f "$build"/*.o
for source in "$here"/*.c "$here"/*/*.c "$here"/../build/nd.c; do
    # shellcheck disable=SC2086  # several flags in one word
    "${cross}gcc" $flags -std=gnu11 -ffunction-sections -fdata-sections \
        -I"$module" -I"$module/driver/include" -I"$module/runtime/include" \
        -c "$source" -o "$build/$(basename "$source" .c).o"
done
rm "$build/registry.o" "$build/plan_reader.o"

# text of the named object files, as far as a symbol needs them
size_of() {
    symbol=$1
    shift
    "${cross}ld" -r --gc-sections -u "$symbol" -o "$build/linked" "$@"
    "${cross}size" "$build/linked" | awk 'NR == 2 { print $1 }'
}

common=0
for name in $shared; do
    size=$("${cross}size" "$build/$name.o" | awk 'NR == 2 { print $1 }')
    common=$((common + size))
    mv "$build/$name.o" "$build/$name.shared"
done
sed -n 's/^KERNEL(\([A-Z0-9_]*\).*/\1/p' "$here/kernels.def" | while read -r name; do
    printf '%7d  %s\n' "$(size_of "kernel_$name" "$build"/*.o)" "$name"
done | sort -rn
printf '%7d  %s\n' "$common" "shared by all: $shared"
