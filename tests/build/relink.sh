#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Ordinary programs join their own kernels with a plugin, and with built-in allocators for inlining,
# up to the cubin.  Without a GPU, in the build folder; tests/lib/test_image tests shpool_open() and
# shpool_launch() with joined images, tests/gpu/launch runs the kernels.
#
#   CC, NVCC, top_srcdir, cuda_low, cuda_libdir   as tests/build/linked.sh
#   allocators                                    those of this build
#
# Exit: 0; 1; 77: no nvcc, or no libnvJitLink.
set -u
: "${CC:=cc}" "${top_srcdir:=.}"
[ -n "${NVCC:-}" ] || { echo "skipped: built without nvcc"; exit 77; }
[ -f libshpool_device.a ] || { echo "skipped: no device archive"; exit 77; }
. "$top_srcdir/tests/build/checks.sh"
include="-I$top_srcdir/include -Iinclude"
example=$top_srcdir/examples/plugin
SHPOOL_PLUGIN_PATH=$work/plugins
export SHPOOL_PLUGIN_PATH
unset SHPOOL_ALLOCATOR SHPOOL_BINDING SHPOOL_CACHE_DIR
mkdir "$work/plugins"

# NVCC and the flags hold several words
# shellcheck disable=SC2086
program() { # NAME FLAGS...
    name=$1
    shift
    $NVCC -std=c++17 $include -rdc=true "$@" -c "$top_srcdir/tests/build/relink.cu" \
        -o "$work/$name.o" &&
        $NVCC "-arch=sm_$cuda_low" "$work/$name.o" -o "$work/$name" libshpool_device.a \
            .libs/libshpool_core.a -lpthread -ldl -lm -Xlinker --export-dynamic
}
joins() { # PROGRAM SPEC: and has all three kernels
    "$work/$1" "$2" "$cuda_low" "$work/$1.cubin" &&
        grep -q of_file "$work/$1.cubin" && grep -q of_typeIf "$work/$1.cubin" &&
        grep -q of_nowhere "$work/$1.cubin"
}
refuses() { # WORDS PROGRAM SPEC
    words=$1
    ! "$work/$2" "$3" "$cuda_low" "$work/none" >"$work/refusal" 2>&1 &&
        grep -q -- "$words" "$work/refusal" || { cat "$work/refusal"; return 1; }
}
# The machine code is read from the cubin itself.  An instruction has 16 bytes, and its low 12 bits
# are the operation: 0x343 and 0x344 are calls of an address in a register, on sm_75 to sm_120.
calls() { # FILE: calls through pointers in the kernels
    readelf -SW "$1" 2>/dev/null | sed 's/\[ */[/' |
        awk '$2 ~ /^\.text\..*of_/ { print "0x" $5, "0x" $6 }' |
        while read -r offset size; do
            od -An -v -tx8 -w16 -j $((offset)) -N $((size)) "$1"
        done | awk '$1 ~ /34[34]$/ { count++ } END { print count + 0 }'
}

code="-gencode arch=compute_$cuda_low,code=sm_$cuda_low"
# shellcheck disable=SC2086
{
    check "a program" program plain $code
    check "one with LTO-IR" program lto $code \
        -gencode "arch=compute_$cuda_low,code=lto_$cuda_low" -DSHPOOL_LTO
    check "one with variables" program variables $code -DVARIABLES
    check "one with constants" program constants $code -DCONSTANTS
    check "the plugin's device code" $NVCC -rdc=true -fatbin \
        -gencode "arch=compute_$cuda_low,code=[lto_$cuda_low,compute_$cuda_low]" \
        "$example/own.cu" -o "$work/own.fatbin" $include
    od -An -v -tu1 "$work/own.fatbin" | sed 's/[0-9]\{1,\}/&,/g' >"$work/own_fatbin.inc"
    check "the plugin" $CC -w -shared -fPIC -fvisibility=hidden -DOWN_CUDA=0 -I"$work" \
        "$example/own.c" -o "$work/plugins/own.so" $include
}
[ $failed = 0 ] || exit 1
if "$work/plain" own "$cuda_low" "$work/none" 2>&1 | grep 'no libnvJitLink was found'; then
    exit 77
fi

check "a plugin joins a program" joins plain own
check "its tables are in" grep -q shpool_own_tables "$work/plain.cubin"
for name in $allocators; do # a plugin takes the place of the archive's allocators
    check "$name's are not" sh -c "! grep -q shpool_${name}_tables $work/plain.cubin"
done
check "with counters" joins plain own:stats=1
check "without LTO-IR nothing is inlined" refuses lto_cflags plain own:binding=linked
check "beside LTO-IR" joins lto own
by_table=$(calls "$work/lto.cubin")
check "and inlined" joins lto own:binding=linked
inlined=$(calls "$work/lto.cubin")
echo "calls through pointers: $by_table by table, $inlined inlined"
check "there were" test "$by_table" -gt 0
check "calls are gone" test "$inlined" -eq 0
check "a pool that spills" joins lto own:spill=arena,binding=linked
for name in bitmap warp_best_fit; do # linked.sh has all of them
    check "$name inlined" joins lto "$name:binding=linked"
done
# shellcheck disable=SC2086
if check "code for sm_90a" program lettered $code -gencode arch=compute_90a,code=sm_90a \
    -gencode arch=compute_90a,code=lto_90a -DSHPOOL_LTO && [ "$cuda_low" -le 90 ]; then
    for name in bitmap planes; do # joined for sm_90, its setmaxnreg would be refused
        check "$name inlined, with setmaxnreg" "$work/lettered" "$name:binding=linked" 90 \
            "$work/lettered.cubin"
    done
fi
check "variables are refused" refuses 'counter' variables own
check "all of them are named" refuses 'copies of 4 variables' variables own
check "unless they are allowed" joins variables own:copies=1
check "constants and virtual functions are not" joins constants own
check "another GPU" sh -c "$work/plain own 120 $work/later.cubin >$work/later 2>&1 ||
    grep -q 'nvJitLink failed' $work/later"

# joining works after strip, and fails without the relocatable code
strip -s "$work/plain" 2>/dev/null || :
check "stripped" joins plain own
check "without its relocatable code" objcopy --remove-section __nv_relfatbin "$work/plain" \
    "$work/removed"
check "the error says so" sh -c "$work/removed own $cuda_low $work/none |
    grep -q 'no relocatable device code'"

SHPOOL_CACHE_DIR=$work/cache
export SHPOOL_CACHE_DIR
check "kept in a folder" joins plain own
check "one file" sh -c "test \$(ls $work/cache | wc -l) = 1"
check "and found there" joins plain own
check "still one" sh -c "test \$(ls $work/cache | wc -l) = 1"
exit $failed
