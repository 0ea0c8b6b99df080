#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# doc/ADDING-AN-ALLOCATOR.md, step by step: three files and a line, then configure and make know it.
# The same for a layer of device memory (doc/DEVICE-MEMORY.md): one file and a line.
# In a copy of the source; built without CUDA and optional packages: make check must then leave out
# what includes cmocka.h.  Exit: 0; 1; 77: no autotools, or no .git and no distribution files to
# copy.
#
#   top_srcdir   source folder [the one above this script's]
set -u
umask 022 # a plugin that its group can write to is refused
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
for tool in autoconf automake libtoolize pkg-config; do
    command -v $tool >/dev/null 2>&1 || { echo "skipped: no $tool"; exit 77; }
done
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR
unset SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
unset MAKEFLAGS MFLAGS MAKELEVEL # TEST_LOGS of the make check that runs this script

for part in allocators build-aux check coalesce device doc examples include lib m4 man packaging \
    python simt tests tools autogen.sh configure.ac LICENSE Makefile.am NEWS quickstart README.md \
    shpool.pc.in shpool-config.cmake.in CMakeLists.txt CONTRIBUTING.md; do
    cp -R "$src/$part" "$work/" || exit 1
done
chmod -R u+w "$work"
cd "$work" || exit 1
rm -rf include/shpool/allocators
find . -name '*.o' -o -name '*.lo' -o -name '*.la' -o -name '*.cud' | xargs rm -f

# ---- the steps ----
mkdir allocators/zz_fake
for file in allocators/null/*; do
    to=allocators/zz_fake/$(basename "$file" | sed 's/^null/zz_fake/')
    sed 's/null/zz_fake/g; s/NULL_H/ZZ_FAKE_H/g' "$file" >"$to"
done
echo zz_fake >>allocators/list
sed 's/lock/zz_lock/g' device/layers/lock.c >device/layers/zz_lock.c
echo layers/zz_lock >>device/list

{
    ./autogen.sh && mkdir build && cd build &&
        CONFIG_SHELL=/bin/sh /bin/sh ../configure --without-cuda --disable-shared \
            --disable-dependency-tracking --enable-allocators=bitmap,zz_fake \
            --with-default-allocator=zz_fake PKG_CONFIG=false CFLAGS=-O0 CXXFLAGS=-O0 &&
        make -j2 shpool-info examples/executor
} >log 2>&1 || { tail -20 log; echo "FAIL the build"; exit 1; }
cd "$work/build" || exit 1

check "listed" sh -c './shpool-info list | grep -q "zz_fake .*never allocates"'
check "the default" sh -c './shpool-info list | grep -q "^selected: zz_fake"'
check "nothing that was left out" sh -c '! ./shpool-info list | grep -q thread_first_fit'
check "the layer is listed, as the last one" \
    sh -c './shpool-info device | grep "^[a-z]" | tail -n 1 | grep -q "^zz_lock .*one caller"'
check "runs" sh -c './examples/executor | grep -q "NULL from zz_fake"'

# ---- without cmocka ----
mkdir "$work/none"
echo '#error there is no cmocka' >"$work/none/cmocka.h"
without_cmocka() {
    make -n check TESTS= >commands || return 1
    sources=$(grep -o '[^ "`]*tests/[a-z/]*/[a-z_]*\.cc*' commands | grep '^\.\.' | sort -u)
    [ "$(echo "$sources" | wc -l)" -ge 3 ] || { echo "only these were found: $sources"; return 1; }
    for source in $sources; do
        "${CXX:-c++}" -std=c++17 -x c++ -M -I"$work/none" -I. -Iinclude -I../include -I.. \
            "$source" >/dev/null || return 1
    done
}
check "without cmocka nothing needs it" without_cmocka
exit $failed
