#!/bin/sh
# A program may load and unload libshpool.so as often as it likes: nothing leaks.  2,500 rounds are
# more than a process has thread keys (1,024).
set -u
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
library=$top_builddir/.libs/libshpool.so
if [ ! -f "$library" ]; then
    echo "no shared library in this build"
    exit 77
fi
if $NM -D "$library" | grep -q -e __asan_init -e __tsan_init; then
    echo "a sanitizer's library does not load into a program without"
    exit 77
fi

# CC may hold options
# shellcheck disable=SC2086
$CC -o "$work/load_rounds" "$top_srcdir/tests/build/load_rounds.c" -ldl -pthread || exit 99
check "2,500 rounds of dlopen() and dlclose()" "$work/load_rounds" "$library" 2500
exit $failed
