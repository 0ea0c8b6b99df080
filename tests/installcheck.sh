#!/bin/sh
# Compile and run what the documentation tells users to type, against the installed files.
set -u
src=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-installcheck.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
LD_LIBRARY_PATH=$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
passed=0
failed=0

# try WHAT COMMAND...: the command must succeed
try() {
    what=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        echo "PASS: installcheck: $what"
        passed=$((passed + 1))
    else
        echo "FAIL: installcheck: $what: $*"
        cat "$tmp/log"
        failed=$((failed + 1))
    fi
}
refused() { if "$@"; then return 1; else return 0; fi; }
selects() { SHPOOL_ALLOCATOR=$1 "$tmp/c" | grep -q "of $1\$"; }
without_rdc() { # nvcc would link it, and the kernel call functions of another image
    # shellcheck disable=SC2086
    refused $NVCC -o "$tmp/none" "$tmp/readme.cu" $flags 2>"$tmp/log" && grep -q rdc=true "$tmp/log"
}
unknown() { SHPOOL_ALLOCATOR=no_such_allocator refused "$tmp/c"; }

flags=$($PKG_CONFIG --cflags --libs shpool) || flags=
try "pkg-config knows shpool" test -n "$flags"
# $flags, $CC, $CXX and $NVCC hold several words
# shellcheck disable=SC2086
try "cc app.c" $CC -o "$tmp/c" "$src/consumer.c" $flags
try "app runs" "$tmp/c"
for name in $allocators; do
    try "SHPOOL_ALLOCATOR=$name" selects "$name"
    try "header of $name" test -f "$INCLUDEDIR/shpool/allocators/$name/$name.h"
done
try "an unknown allocator is an error" unknown
try "shpool-info runs" "$BINDIR/shpool-info" list
try "shpool-bench runs" "$BINDIR/shpool-bench" --help

# on the executor; all of cuda_memory's namespaces are in it.  pkg-config prefixes no variable with
# the sysroot.
compat=$($PKG_CONFIG --define-variable=includedir="$INCLUDEDIR" --variable=compat_cflags shpool)
# shellcheck disable=SC2086
try "c++ program for cuda_memory" $CXX -std=c++17 $compat -DUSE_WARP_LOCAL_BEST_FIT \
    -DPOOL=warp_pool -DMALLOC=warp_pool::pmalloc_best_fit '-DNAME="Warp Local (Best Fit)"' \
    -DIS_SHARED=1 -o "$tmp/compat_cpu" -x c++ "$src/compat_use.cu" -x none $flags
try "it runs" "$tmp/compat_cpu"

case " $flags " in
*" -lshpool_device "*)
    low=$($PKG_CONFIG --variable=cuda_archs shpool | sed 's/[^0-9].*//')
    try "cuda_archs is set" test -n "$low"
    # shellcheck disable=SC2086
    try "nvcc -rdc=true app.cu" $NVCC -rdc=true -o "$tmp/cu" "$src/consumer.cu" $flags
    try "CUDA app runs" "$tmp/cu"
    sed -n '/^```cuda$/,/^```$/{/^```/d;p}' "$src/../README.md" >"$tmp/readme.cu"
    try "README has an example" grep -q shpool_init "$tmp/readme.cu"
    # shellcheck disable=SC2086
    try "the README's example" $NVCC -rdc=true -o "$tmp/readme" "$tmp/readme.cu" $flags
    # shellcheck disable=SC2086
    try "the README's example, inline" $NVCC -DSHPOOL_INLINE=${allocators%% *} -o "$tmp/readme" \
        "$tmp/readme.cu" $flags
    try "without -rdc=true there is an error" without_rdc
    for one in blueprint runtime linked; do
        # shellcheck disable=SC2086
        try "example $one" $NVCC -rdc=true -o "$tmp/$one" "$src/../examples/$one.cu" $flags
    done
    # shellcheck disable=SC2086
    try "example linked, its kernel" $NVCC -arch="sm_$low" -rdc=true -dlto -ltoir \
        -o "$tmp/linked_kernel.ltoir" "$src/../examples/linked_kernel.cu" \
        $($PKG_CONFIG --cflags shpool)
    # shellcheck disable=SC2086
    try "a program for cuda_memory" $NVCC -std=c++17 $compat -DUSE_WARP_LOCAL_BEST_FIT \
        -DPOOL=warp_pool -DMALLOC=warp_pool::pmalloc_best_fit '-DNAME="Warp Local (Best Fit)"' \
        -DIS_SHARED=1 -o "$tmp/compat" "$src/compat_use.cu"
    for one in first second; do
        # shellcheck disable=SC2086
        try "nvcc -shared, $one library" $NVCC -rdc=true -shared -Xcompiler -fPIC \
            -DCONSUMER=$one -DCONSUMER_LIBRARY -o "$tmp/lib$one.so" "$src/consumer.cu" $flags
    done
    # shellcheck disable=SC2086
    try "cc load_two.c" $CC -o "$tmp/load_two" "$src/load_two.c" -ldl
    try "two libraries with the device archive in one process" \
        "$tmp/load_two" "$tmp/libfirst.so" first "$tmp/libsecond.so" second
    ;;
*)
    echo "installcheck: built without CUDA, no device consumers"
    ;;
esac

echo "# PASS:  $passed"
echo "# FAIL:  $failed"
test "$failed" = 0
