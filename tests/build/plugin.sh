#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/plugin, with the commands that it gives: shpool-info, which was built before it, lists,
# describes and links the allocator in it.  In the build folder, without a GPU.
#
#   CC, NVCC, top_srcdir, cuda_low, cuda_libdir   as tests/build/linked.sh; without NVCC nothing is
#   linked
#
# Exit: 0; 1.
set -u
umask 022 # a plugin that its group can write to is refused
: "${CC:=cc}" "${top_srcdir:=.}"
info=./shpool-info
example=$top_srcdir/examples/plugin
. "$top_srcdir/tests/build/checks.sh"
SHPOOL_PLUGIN_PATH=$work/plugins
export SHPOOL_PLUGIN_PATH
mkdir "$work/plugins"

says() { # WORDS COMMAND...
    words=$1
    shift
    "$@" 2>&1 | grep -q "$words"
}
plugin() { # FILE FLAGS...
    file=$1
    shift
    # CC may hold options
    # shellcheck disable=SC2086
    $CC -w -shared -fPIC -fvisibility=hidden "$@" -I"$work" "$example/own.c" \
        -o "$work/plugins/$file" -I"$top_srcdir/include"
}

check "without a plugin there is none" says 'no allocator is called "own"' $info show own
check "plugin for the executor" plugin own.so
check "it is listed" says '^  own  *block  *a third party' $info list
check "with its file" says "plugin  *$work/plugins/own.so" $info show own
check "it can be selected" says '^selected: own' env SHPOOL_ALLOCATOR=own $info list
check "it is planned" $info overhead --threads 64 --bytes 4K --allocator own
check "it cannot be linked" says 'no LTO-IR' $info link "$0" --arch sm_90 --allocator own

echo nothing >"$work/plugins/bad.so"
check "a bad one is named" says 'warning: a plugin is not used: .*bad.so: ' $info list
check "where a name is not found, too" says 'plugins that are not used: .*bad.so: ' $info show owm
check "and the good one is there" says '^  own ' $info list
rm "$work/plugins/bad.so"

if [ -n "${NVCC:-}" ]; then
    # NVCC may hold options
    # shellcheck disable=SC2086
    check "its device code" $NVCC -rdc=true -fatbin \
        -gencode "arch=compute_$cuda_low,code=[lto_$cuda_low,compute_$cuda_low]" \
        "$example/own.cu" -o "$work/own.fatbin" -I"$top_srcdir/include"
    # shellcheck disable=SC2086
    check "a kernel" $NVCC "-arch=sm_$cuda_low" -rdc=true -dlto -ltoir -Iinclude \
        "$top_srcdir/examples/linked_kernel.cu" -o "$work/kernel.ltoir" -I"$top_srcdir/include"
    od -An -v -tu1 "$work/own.fatbin" | sed 's/[0-9]\{1,\}/&,/g' >"$work/own_fatbin.inc"
    link="$info link $work/kernel.ltoir --arch sm_120"
    check "plugin of this CUDA" plugin own.so -DOWN_CUDA=12080
    check "its stamp" says 'made by CUDA 12.8: LTO-IR, and PTX' $info show own
    check "what it serves" says 'joined with kernels for the function table, or inlined' \
        $info show own
    check "its PTX alone" $NVCC -rdc=true -fatbin \
        -gencode "arch=compute_$cuda_low,code=compute_$cuda_low" "$example/own.cu" \
        -o "$work/ptx.fatbin" -I"$top_srcdir/include"
    mv "$work/own_fatbin.inc" "$work/both.inc"
    od -An -v -tu1 "$work/ptx.fatbin" | sed 's/[0-9]\{1,\}/&,/g' >"$work/own_fatbin.inc"
    check "plugin of PTX" plugin own.so -DOWN_CUDA=0
    check "is called" says 'called, not inlined' $info show own
    check "through the table" says 'joined with kernels for the function table$' $info show own
    mv "$work/both.inc" "$work/own_fatbin.inc"
    check "plugin of a CUDA to come" plugin own.so -DOWN_CUDA=99010
    if says 'no libnvJitLink was found' $link; then
        echo "no libnvJitLink: nothing is linked"
    else
        check "no linker takes it" says 'made by CUDA 99.1, libnvJitLink' $link --allocator own
        check "plugin without a stamp" plugin own.so -DOWN_CUDA=0
        check "it is linked" $link --allocator own -o "$work/own.cubin"
        check "with a kernel in it" grep -q sums "$work/own.cubin"
        check "another allocator" $link --allocator null -o "$work/null.cubin"
        check "which is another kernel" sh -c "! cmp -s $work/own.cubin $work/null.cubin"
    fi
fi
exit $failed
