#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Programs that were linked with an earlier libshpool.so run with this one (doc/ABI.md): structures
# have the sizes and offsets of abi.c, and the library exports what symbols.txt lists, no more and
# no less.  Each of these functions is tested with failures.  No CUDA library is needed to load it.
#
#   CC, NM, top_srcdir, top_builddir
#
# Prints a FAIL line for each fault.  Exit: 0; 1; 77: no shared library in this build.
set -u
list=$top_srcdir/tests/build/symbols.txt
library=$top_builddir/.libs/libshpool.so
failed=0

# shellcheck disable=SC2086 # CC may hold options
if ! $CC -std=c11 -fsyntax-only -I"$top_builddir/include" -I"$top_srcdir/include" \
    "$top_srcdir/tests/build/abi.c"; then
    echo "FAIL: a structure is not as tests/build/abi.c has it; doc/ABI.md says what may change"
    failed=1
fi

# ---- each function fails in a test ----
for name in $(sed -n 's/^\([a-z][a-z0-9_]*\)$/\1/p' "$list"); do
    if ! (cd "$top_srcdir/tests" && cat */test_memory.c lib/test_relink.c simt/trial.h \
        device/test_*fault*.c device/test_plugin.c device/test_array.c device/share_trial.h \
        device/scene.c device/trial.h) |
        grep -qw "$name"; then
        echo "FAIL $name: no test lets it fail, and tests/build/symbols.txt does not say why"
        failed=1
    fi
done

# ---- the library ----
if [ ! -f "$library" ]; then
    echo "no shared library in this build"
    [ $failed = 1 ] || exit 77
    exit 1
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
sed -n 's/^\([a-z][a-z0-9_]*\).*/\1/p' "$list" | LC_ALL=C sort >"$work/listed"
# shellcheck disable=SC2086 # NM may hold options
$NM -D --defined-only "$library" | sed 's/@.*//' | awk '{ print $NF }' | LC_ALL=C sort \
    >"$work/exported"
if ! diff "$work/listed" "$work/exported"; then
    echo "FAIL: < is in tests/build/symbols.txt and not exported, > is exported and not there"
    failed=1
fi

# whatever is neither here nor in the libraries that it names; a sanitizer's is in the program
missing=$(ldd -r "$library" 2>&1 | grep '^undefined symbol' |
    grep -v -e __asan -e __ubsan -e __tsan)
if [ -n "$missing" ]; then
    echo "FAIL: $missing"
    failed=1
fi

# thread-local data of a library that Python loads must fit in the space that libc reserves for it
tls=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
if [ $((${tls:-0})) -gt 512 ]; then
    echo "FAIL: $((tls)) bytes of thread-local data: dlopen() may have no room for more than 512"
    failed=1
fi

needed=$(ldd "$library") || exit 99
if printf '%s\n' "$needed" | grep -i -e cuda -e nvrtc -e nvJitLink -e nvidia; then
    echo "FAIL: the library needs CUDA to load"
    failed=1
fi
exit $failed
