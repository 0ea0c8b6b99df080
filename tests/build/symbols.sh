#!/bin/sh
# libshpool.so exports shpool_* and simt_* only, and needs no CUDA library to load.
set -u
library=$top_builddir/.libs/libshpool.so
if [ ! -f "$library" ]; then
    echo "no shared library in this build"
    exit 77
fi
failed=0

# nm may hold options
# shellcheck disable=SC2086
exported=$($NM -D --defined-only "$library" | sed 's/@.*//' | awk '{ print $NF }') || exit 99
case $exported in
*shpool_plan*) ;;
*)
    echo "FAIL: the public functions are not exported"
    failed=1
    ;;
esac
others=$(printf '%s\n' "$exported" | grep -v -e '^shpool_' -e '^simt_')
if [ -n "$others" ]; then
    echo "FAIL: exported, but neither shpool_* nor simt_*:"
    printf '%s\n' "$others"
    failed=1
fi
# built-in modules and embedded code are reached through the registry
leaked=$(printf '%s\n' "$exported" | grep -e '^shpool_allocator_[a-z_]*$' |
    grep -v -x -e shpool_allocator_count -e shpool_allocator_get -e shpool_allocator_find)
leaked="$leaked$(printf '%s\n' "$exported" | grep '^shpool_lto_')"
if [ -n "$leaked" ]; then
    echo "FAIL: exported, but internal: $leaked"
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
