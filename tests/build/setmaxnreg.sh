#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Kernels with setmaxnreg: with each allocator inlined, for sm_90a and sm_100a, ptxas keeps it and
# ends soon; a link at run time keeps it, too.  Through the function table it is ignored, as
# doc/PERSISTENT.md says.  No GPU needed.
#
#   NVCC          [nvcc]
#   allocators    of this build [all]
#   top_srcdir    source folder [the one above this script's]
#   top_builddir  build folder [.]: its shpool-info links
#
# Exit: 0; 1; 77: no nvcc, or one that does not know sm_100a.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
NVCC=${NVCC-nvcc} # empty: built without CUDA
for arch in 90a 100a; do
    # NVCC may hold options
    # shellcheck disable=SC2086
    [ -n "$NVCC" ] && $NVCC -dryrun -cubin -arch=sm_$arch x.cu >/dev/null 2>&1 || {
        echo "skipped: no nvcc that compiles for sm_$arch ($NVCC)"
        exit 77
    }
done
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
: "${allocators:=$(sed -n 's/^\([a-z][a-z_]*\).*/\1/p' "$src/allocators/list")}"
mkdir -p "$work/include/shpool"
ln -s "$src/allocators" "$work/include/shpool/allocators"
include="-I$work/include -I$src/include -I$src"

# What ptxas says is in NAME.ARCH.log.  The limits are far above what is needed: 7 s, 0.2 GiB.
source=tests/build/setmaxnreg.cu
compile() { # ARCH NAME FLAGS...
    base=$work/$2.$1
    arch=$1
    shift 2
    (
        ulimit -v 8000000 # nvcc's processes reserve more than they use
        # shellcheck disable=SC2086
        timeout 60 $NVCC -std=c++17 -arch="sm_$arch" -Xptxas -v $include -cubin "$@" \
            "$src/$source" -o "$base.cubin"
    ) >"$base.log" 2>&1 || echo "status $?" >>"$base.log"
}
for arch in 90a 100a; do
    (
        for name in $allocators; do
            compile $arch "$name" -DSHPOOL_INLINE="$name"
        done
        compile $arch table -rdc=true
    ) &
done
wait
source=examples/stages.cu
for arch in 90a 100a 100f; do
    compile $arch stages -DSHPOOL_INLINE=bitmap
done
source=tests/build/setmaxnreg.cu

keeps() { # NAME.ARCH: compiled, with the registers that the launch bounds allow
    grep -q 'Used 168 registers' "$work/$1.log" &&
        ! grep -q '(C7[0-9]*)\|^status' "$work/$1.log" || {
        cat "$work/$1.log"
        return 1
    }
}
pipeline() { # ARCH: the same, and its producer has registers enough
    keeps stages.$1 && ! grep -q '[1-9][0-9]* bytes spill' "$work/stages.$1.log"
}
for arch in 90a 100a; do
    for name in $allocators; do
        check "sm_$arch: $name, inlined, keeps setmaxnreg" keeps "$name.$arch"
    done
    check "sm_$arch: through the table it is ignored" grep -q "'setmaxnreg' ignored" \
        "$work/table.$arch.log"
done
for arch in 90a 100a 100f; do
    grep -q "Unsupported gpu architecture" "$work/stages.$arch.log" || # 100f: CUDA 12.9
        check "sm_$arch: the pipeline of stages keeps it, and does not spill" pipeline $arch
done
compile 90a calls -DSHPOOL_INLINE=cluster_bitmap -DSHPOOL_CALLS=1
check "calls are the reason: without them ptxas is content" grep -q '(C7600)' "$work/calls.90a.log"

# what only sm_100 has
control() { # the kernel of that name is there, and calls the pool
    grep -q "Compiling entry function '[^']*control" "$work/launches.100.log" &&
        ! grep -q '^status' "$work/launches.100.log" || {
        cat "$work/launches.100.log"
        return 1
    }
}
source=tests/gpu/persistent.cu
compile 100 launches -rdc=true
check "sm_100: cluster launch control" control
source=tests/build/setmaxnreg.cu

# a pragma of CUDA 13
# shellcheck disable=SC2086
case $($NVCC --version | sed -n 's/.*release \([0-9]*\).*/\1/p') in
[0-9] | 1[0-2]) ;;
*)
    compile 90a spilling -DSHPOOL_INLINE=null -DSMEM_SPILLING
    check "enable_smem_spilling excludes a pool in dynamic shared memory" \
        grep -q 'not allowed for dynamic SMEM' "$work/spilling.90a.log"
    ;;
esac

# ---- linked ----

# The kernel's registers in .nv.info: attribute 0x2f, 8 bytes, its symbol, and 168.
link() { # NAME ARCH
    timeout 60 "$build/shpool-info" link "$work/k.$2" --arch "sm_$2" --allocator "$1" \
        -o "$work/k.cubin" &&
        od -An -v -tx1 "$work/k.cubin" | tr -d '\n ' | grep -q '042f0800........a8000000'
}
for arch in 90a 100a; do
    # shellcheck disable=SC2086
    $NVCC -std=c++17 -arch=sm_$arch -rdc=true -dlto -ltoir -DSHPOOL_LINKED $include \
        "$src/tests/build/setmaxnreg.cu" -o "$work/k.$arch"
    if ! "$build/shpool-info" link "$work/k.$arch" --arch sm_$arch --allocator "${allocators%% *}" \
        >"$work/out" 2>&1 &&
        grep -q 'no libnvJitLink was found\|no LTO-IR' "$work/out"; then
        echo "not linked: $(cat "$work/out")"
        continue
    fi
    for name in $allocators; do
        case $arch-$name in # a second architecture for two of them
        90a-* | 100a-bitmap | 100a-planes)
            check "sm_$arch: $name, linked, keeps setmaxnreg" link "$name" $arch
            ;;
        esac
    done
done
exit $failed
