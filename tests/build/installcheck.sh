#!/bin/sh
# Compile and run the commands of the documentation against the installed files.
set -u
umask 022 # a plugin that its group can write to is refused
src=$1
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-installcheck.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR
unset SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
LD_LIBRARY_PATH=$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
passed=0
failed=0
skipped=0

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
# needs WHAT ALLOCATOR...: only then can it be compiled (--enable-allocators)
needs() {
    what=$1
    shift
    for name; do
        case " $allocators " in
        *" $name "*) ;;
        *)
            echo "SKIP: installcheck: $what: this build has no $name"
            skipped=$((skipped + 1))
            return 1
            ;;
        esac
    done
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
try "cc app.c" $CC -o "$tmp/c" "$src/build/consumer.c" $flags
try "app runs" "$tmp/c"
for name in $allocators; do
    try "SHPOOL_ALLOCATOR=$name" selects "$name"
    try "header of $name" test -f "$INCLUDEDIR/shpool/allocators/$name/$name.h"
done
try "an unknown allocator is an error" unknown
try "shpool-info runs" "$BINDIR/shpool-info" list
try "shpool-bench runs" "$BINDIR/shpool-bench" --help
# some distributions compress installed files
page() { cat "$MANDIR/man$1/$2.$1" 2>/dev/null || zcat "$MANDIR/man$1/$2.$1.gz"; }
names() { page "$1" "$2" | grep -q "^\.Nm $3"; }
try "man 7 shpool" names 7 shpool shpool
try "man shpool-info" names 1 shpool-info shpool-info
try "man shpool_free leads to its page" names 3 shpool_free shpool_free
linked() { # PAGE: the files that it links to are installed where it looks for them
    grep -o '](\([A-Za-z0-9_/.-]*\))' "$DOCDIR/$1" | sed 's/^](//; s/)$//' | sort -u >"$tmp/links"
    test -s "$tmp/links" || return 1
    while IFS= read -r to; do
        test -f "$(dirname "$DOCDIR/$1")/$to" || { echo "$1: no $to"; return 1; }
    done <"$tmp/links"
}
for name in README.md doc/performance.md doc/EXPERIMENTS.md doc/COALESCE-CLANG.md; do
    try "links of $name" linked "$name"
done
try "pages of allocators" test -f "$DOCDIR/allocators/${allocators%% *}/README.md"

# a plugin for the executor, found by programs that were built before it
plugin() { # FLAGS...
    # shellcheck disable=SC2086
    $CC -shared -fPIC -fvisibility=hidden -I"$tmp" "$src/../examples/plugin/own.c" \
        -o "$tmp/plugins/own.so" $($PKG_CONFIG --cflags shpool) "$@"
}
with_plugins() { SHPOOL_PLUGIN_PATH=$tmp/plugins "$@"; }
mkdir "$tmp/plugins"
try "a plugin" plugin
try "it serves the app" with_plugins selects own
try "it is shown" with_plugins "$BINDIR/shpool-info" show own
try "it runs" with_plugins "$BINDIR/shpool-bench" --device cpu --allocator own -i 1
# a program that has the library inside: the plugin must not bring another copy along
own_in() { SHPOOL_PLUGIN_PATH=$tmp/plugins SHPOOL_ALLOCATOR=own "$@"; }
says() { # WORDS COMMAND...: it fails, and says so
    words=$1
    shift
    refused "$@" >"$tmp/words" 2>&1 && grep -q -- "$words" "$tmp/words"
}
static() { # FILE FLAGS...
    file=$1
    shift
    # shellcheck disable=SC2086
    $CC "$@" -o "$file" "$src/build/consumer.c" $($PKG_CONFIG --cflags shpool) \
        "$LIBDIR/libshpool.a" \
        $($PKG_CONFIG --static --libs-only-l shpool | sed 's/-lshpool[a-z_]*//g')
}
all_static() { # glibc warns of dlopen() in a static program
    # shellcheck disable=SC2086
    $CC -static -o "$tmp/all_static" "$src/build/consumer.c" \
        $($PKG_CONFIG --static --cflags --libs shpool) && "$tmp/all_static"
}
if [ -f "$LIBDIR/libshpool.a" ]; then
    try "a static program" static "$tmp/static"
    try "cc -static, pkg-config --static" all_static
    try "it shows nothing to a plugin" says 'or with -rdynamic' own_in "$tmp/static"
    try "one that does" static "$tmp/dynamic" -rdynamic
    try "has the plugin" own_in "$tmp/dynamic"
    try "a plugin with a library of its own" plugin -L"$LIBDIR" -lshpool
    try "is refused" says 'another copy of libshpool' own_in "$tmp/static"
    try "but not where it is the only one" own_in "$tmp/c"
fi

# on the executor; all of cuda_memory's namespaces are in it.  pkg-config prefixes no variable with
# the sysroot.
cuda_memory='thread_first_fit thread_best_fit warp_first_fit warp_best_fit freelist rbtree'
compat=$($PKG_CONFIG --define-variable=includedir="$INCLUDEDIR" --variable=compat_cflags shpool)
# shellcheck disable=SC2086
if needs "c++ program for cuda_memory" $cuda_memory; then
    try "c++ program for cuda_memory" $CXX -std=c++17 $compat -DUSE_WARP_LOCAL_BEST_FIT \
        -DPOOL=warp_pool -DMALLOC=warp_pool::pmalloc_best_fit '-DNAME="Warp Local (Best Fit)"' \
        -DIS_SHARED=1 -o "$tmp/compat_cpu" -x c++ "$src/compat/use.cu" -x none $flags
    try "it runs" "$tmp/compat_cpu"
fi

# README's program without a GPU, with the options that it gives, and sanitized
readme_c() { # FLAGS...
    # shellcheck disable=SC2086
    $CC "$@" -o "$tmp/readme_c" "$src/../examples/executor.c" $flags
}
readme_serves() {
    SHPOOL_ALLOCATOR=bitmap "$tmp/readme_c" >"$tmp/served" 2>&1 &&
        echo "thread 63: 256 bytes from bitmap" | cmp - "$tmp/served"
}
reported() {
    SHPOOL_ALLOCATOR=bitmap:check=1 "$tmp/readme_c" 2>&1 >"$tmp/served" |
        grep -q '^shpool: bitmap: 64 mallocs, 0 failed, 0 never freed, peak 256 of'
}
sanitizer_starts() { # not everywhere is there its runtime, and not every kernel lets it start
    # shellcheck disable=SC2086
    echo 'int main(void) { return 0; }' >"$tmp/probe.c" &&
        $CC -fsanitize=thread -o "$tmp/probe" "$tmp/probe.c" 2>"$tmp/log" && "$tmp/probe"
}
try "the README's program for the CPU" readme_c -Wall -Wextra -Werror
case " $allocators " in
*' bitmap '*)
    try "it is served" readme_serves
    try "its report is shown" reported
    if sanitizer_starts; then
        try "the same with ThreadSanitizer" readme_c -g -fsanitize=thread -DSHPOOL_INLINE=bitmap
        try "no race is reported" readme_serves
    else
        echo "SKIP: installcheck: ThreadSanitizer does not start"
        skipped=$((skipped + 1))
    fi
    ;;
esac

# the larger examples on the executor
large_examples() {
    for one in sparse repeats; do
        # shellcheck disable=SC2086
        try "example $one for the CPU" $CXX -std=c++17 -O1 -x c++ "$src/../examples/$one/$one.cu" \
            -x none -o "$tmp/${one}_cpu" $flags
        try "it runs" "$tmp/${one}_cpu"
        try "it tells its options" "$tmp/${one}_cpu" --help
        try "it refuses 5000 threads" says '32 to 1024' "$tmp/${one}_cpu" --threads 5000
    done
    # shellcheck disable=SC2086
    try "example decode for the CPU" $CXX -std=c++17 -O1 -x c++ \
        "$src/../examples/decode/decode.cu" -x none -o "$tmp/decode_cpu" $flags
    try "it runs" "$tmp/decode_cpu"
    try "it refuses a shape" says 'a multiple of' "$tmp/decode_cpu" --heads 3
    try "it refuses a small pool" says 'two of the largest tiles' "$tmp/decode_cpu" --pool 1600
    try "repeats refuses a text of nothing" says 'is empty' "$tmp/repeats_cpu" /dev/null
}
if [ "${extent:-all}" = short ]; then
    echo "installcheck: without the larger examples (INSTALLCHECK=short)"
else
    large_examples
fi

# an allocator outside the tree
mkdir "$tmp/examples"
cp -R "$src/../examples/machine.h" "$src/../examples/own_allocator" "$src/../examples/plugin" \
    "$tmp/examples"
chmod -R u+w "$tmp/examples" # make distcheck's source is read-only
own_make() {
    # not the flags of the make that runs this script
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL ${MAKE:-make} -C "$tmp/examples/own_allocator" \
        CC="$CC" CXX="$CXX" NVCC="$NVCC" PKG_CONFIG="$PKG_CONFIG" RPATH="$LIBDIR" "$@"
}
try "an allocator of one's own" own_make check

case " $flags " in
*" -lshpool_device "*)
    try "the same for the GPU" own_make app
    low=$($PKG_CONFIG --variable=cuda_archs shpool | sed 's/[^0-9].*//')
    try "cuda_archs is set" test -n "$low"
    arch= # an archive for newer GPUs only does not link with nvcc's default architecture
    [ "$low" -le 75 ] || arch=-arch=sm_$low
    # shellcheck disable=SC2086
    try "nvcc -rdc=true app.cu" $NVCC $arch -rdc=true -o "$tmp/cu" "$src/build/consumer.cu" $flags
    try "CUDA app runs" "$tmp/cu"
    sed -n '/^```cuda$/,/^```$/{/^```/d;p}' "$src/../README.md" >"$tmp/readme.cu"
    try "README has an example" grep -q shpool_init "$tmp/readme.cu"
    # shellcheck disable=SC2086
    try "the README's example" $NVCC $arch -rdc=true -o "$tmp/readme" "$tmp/readme.cu" $flags
    if ! nvidia-smi -L >/dev/null 2>&1; then
        try "without a GPU it names the executor" says 'CPU block executor' "$tmp/readme"
    fi
    # shellcheck disable=SC2086
    try "the README's example, inline" $NVCC -DSHPOOL_INLINE=${allocators%% *} -o "$tmp/readme" \
        "$tmp/readme.cu" $flags
    try "without -rdc=true there is an error" without_rdc
    for one in cluster groups loadstore pipeline runtime scratch spill stages wait \
        linked; do
        [ $one != pipeline ] || needs "example $one" warp_best_fit || continue
        # shellcheck disable=SC2086
        try "example $one" $NVCC $arch -rdc=true -o "$tmp/$one" "$src/../examples/$one.cu" $flags
    done
    for one in decode sparse repeats; do
        # shellcheck disable=SC2086
        try "example $one" $NVCC $arch -O3 -rdc=true -o "$tmp/$one" \
            "$src/../examples/$one/$one.cu" $flags
    done
    # shellcheck disable=SC2086
    try "example linked, its kernel" $NVCC -arch="sm_$low" -rdc=true -dlto -ltoir \
        -o "$tmp/linked_kernel.ltoir" "$src/../examples/linked_kernel.cu" \
        $($PKG_CONFIG --cflags shpool)
    # shellcheck disable=SC2086
    try "example plugin, its device code" $NVCC -rdc=true -fatbin \
        -gencode "arch=compute_$low,code=[lto_$low,compute_$low]" \
        "$src/../examples/plugin/own.cu" -o "$tmp/own.fatbin" $($PKG_CONFIG --cflags shpool)
    od -An -v -tu1 "$tmp/own.fatbin" | sed 's/[0-9]\{1,\}/&,/g' >"$tmp/own_fatbin.inc"
    try "example plugin" plugin -DOWN_CUDA=0
    with_plugins "$BINDIR/shpool-info" link "$tmp/linked_kernel.ltoir" --arch sm_120 \
        --allocator own >"$tmp/linkable" 2>&1
    grep -q 'no libnvJitLink was found' "$tmp/linkable" ||
        try "it is linked" grep -q 'linked_kernel.ltoir with own for sm_120' "$tmp/linkable"
    # shellcheck disable=SC2086
    if needs "a program for cuda_memory" $cuda_memory; then
        try "a program for cuda_memory" $NVCC -std=c++17 $compat -DUSE_WARP_LOCAL_BEST_FIT \
            -DPOOL=warp_pool -DMALLOC=warp_pool::pmalloc_best_fit \
            '-DNAME="Warp Local (Best Fit)"' -DIS_SHARED=1 -o "$tmp/compat" "$src/compat/use.cu"
    fi
    for one in first second; do
        # shellcheck disable=SC2086
        try "nvcc -shared, $one library" $NVCC $arch -rdc=true -shared -Xcompiler -fPIC \
            -DCONSUMER=$one -DCONSUMER_LIBRARY -o "$tmp/lib$one.so" "$src/build/consumer.cu" $flags
    done
    # shellcheck disable=SC2086
    try "cc load_two.c" $CC -o "$tmp/load_two" "$src/build/load_two.c" -ldl
    try "two libraries with the device archive in one process" \
        "$tmp/load_two" "$tmp/libfirst.so" first "$tmp/libsecond.so" second
    ;;
*)
    echo "installcheck: built without CUDA, no device consumers"
    ;;
esac

# CMake projects
cmake_project() { # FOLDER BUILD-FOLDER
    try "cmake $1" env CC="$CC" CXX="$CXX" CUDACXX="${NVCC:-}" "$CMAKE" -S "$1" -B "$2" \
        -DCMAKE_PREFIX_PATH="$(dirname "$LIBDIR")" -Dshpool_DIR="$LIBDIR/cmake/shpool"
    try "cmake --build" "$CMAKE" --build "$2"
    try "its tests" "$CMAKE" --build "$2" --target test
}
if command -v "${CMAKE:=cmake}" >/dev/null 2>&1; then
    cp -R "$src/../examples/cmake" "$src/../examples/runtime.cu" "$tmp/examples"
    chmod -R u+w "$tmp/examples"
    cmake_project "$tmp/examples/cmake" "$tmp/cmake"
    cmake_project "$src/build/cmake" "$tmp/consumers"
    try "add_subdirectory() says what works" says 'find_package(shpool)' \
        "$CMAKE" -S "$src/.." -B "$tmp/subdirectory"
else
    echo "SKIP: installcheck: no cmake"
    skipped=$((skipped + 1))
fi

echo "# PASS:  $passed"
echo "# SKIP:  $skipped"
echo "# FAIL:  $failed"
test "$failed" = 0
