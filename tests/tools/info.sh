#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What shpool-info prints about allocators, device allocators and plugins, and its link command with
# a stand-in for nvJitLink.
#
#   CC top_srcdir top_builddir allocators
#
# Prints one PASS or FAIL line for each check.  Exit: 0; 1; 77: no shared library can be made.
# shellcheck disable=SC2154 # work and failed are those of checks.sh
set -u
: "${CC:=cc}" "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
src=$(cd "$top_srcdir" && pwd)
info=$(cd "$top_builddir" && pwd)/shpool-info
mkdir -m 755 "$work/plugins"
mkdir -m 700 "$work/cache"
echo 'a kernel' >"$work/kernel"
echo "'c', 'o', 'd', 'e'" >"$work/own_fatbin.inc"
if ! $CC -O1 -w -shared -fPIC "$src/tests/tools/stand_in_linker.c" \
    -o "$work/libnvJitLink.so.13" 2>"$work/log" ||
    ! $CC -w -shared -fPIC -fvisibility=hidden -DOWN_CUDA=13000 -I"$work" -I"$src/include" \
        "$src/examples/plugin/own.c" -o "$work/plugins/own.so" 2>"$work/log"; then
    echo "SKIP no shared library can be made: $(head -1 "$work/log")"
    exit 77
fi
chmod go-w "$work/plugins/own.so"
LD_LIBRARY_PATH=$work:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH

# says PATTERN OPTION...: whether shpool-info succeeds and prints it
says() {
    pattern=$1
    shift
    "$info" "$@" >"$work/said" 2>"$work/log"
    status=$?
    check "$* says $pattern" \
        sh -c "[ $status = 0 ] && grep -q -e \"\$1\" '$work/said'" sh "$pattern"
}
for name in $allocators; do
    case $name in
    thread_*) scope='thread: one pool per thread;' ;;
    warp_* | arena | freelist | rbtree) scope='group: threads_per_pool threads share a pool;' ;;
    cluster_*) scope='cluster: one pool per block;' ;;
    *) scope='block: one pool;' ;;
    esac
    says "^scope  *$scope" show "$name"
    says '^ threads  payload_bytes  pools ' show "$name"
done
says '^bins  *base  ' device
says '^    capacity=BYTES$' device
says '^limit  *layer  ' device
says '^shpool-info [0-9]' --version
says '^usage: shpool-info' --help

# ---- a plugin ----
SHPOOL_PLUGIN_PATH=$work/plugins
export SHPOOL_PLUGIN_PATH
says "^plugin  *$work/plugins/own.so\$" show own
says '^linkable  *yes, at run time; called, not inlined$' show own
says '^  4 bytes for sm_75 and newer, made by CUDA 13.0: ' show own
says "^device code  the plugin's: joined with kernels for the function table\$" show own

# ---- link ----
says "^$work/kernel with own for sm_90: [0-9]* bytes in $work/cubin\$" \
    link "$work/kernel" --arch sm_90 --allocator own -o "$work/cubin"
check "the cubin has the kernel and the allocator" \
    sh -c "grep -q 'sm_90.*a kernel' '$work/cubin' && grep -q code '$work/cubin'"
check "it was joined, then it came from memory" \
    sh -c "grep -q '^  nvJitLink  ' '$work/said' && grep -q '^  memory  ' '$work/said'"
SHPOOL_CACHE_DIR=$work/cache
export SHPOOL_CACHE_DIR
says '^  SHPOOL_CACHE_DIR  ' link "$work/kernel" --arch sm_90 --allocator own
says '^  nvJitLink  ' link "$work/kernel" --arch sm_80 --allocator own
says '^  SHPOOL_CACHE_DIR  ' link "$work/kernel" --arch sm_90 --allocator own -o "$work/again"
check "in another process it comes from the folder" sh -c "! grep -q nvJitLink '$work/said'"
check "and is the same" cmp "$work/cubin" "$work/again"
says '"allocator": "own"' link "$work/kernel" --arch sm_90 --allocator own --json
says '"bytes": [1-9]' --json link "$work/kernel" --arch sm_90 --allocator own
"$info" link "$work/kernel" --arch sm_90 --allocator own -o "$work/none/cubin" 2>"$work/log"
check "a folder that does not exist: exit status" test $? = 1
check "a folder that does not exist: a message" \
    grep -q "none/cubin cannot be written: No such file" "$work/log"
exit $failed
