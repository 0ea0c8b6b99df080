#!/bin/sh
# Each public header compiles alone: as strict C11 and C++17 by the host compilers, under nvcc, and
# under NVRTC.  A .cuh goes to the latter two only, a .hpp not to C.
set -u
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
tmp=$work
include="-I$top_builddir/include -I$top_srcdir/include"
warn="-Wall -Wextra -Werror -pedantic-errors"

cuda=$cuda_libdir/../include # CUDA's own headers, if there are any

for header in $public_headers; do
    name=shpool/${header#include/shpool/}
    file=$top_srcdir/$header
    [ -f "$file" ] || file=$top_builddir/$header # allocators are a link there
    # no function is called, so unused static ones are none of the header's faults
    printf '#include <%s>\n#include <%s>\nint main(void) { return 0; }\n' "$name" "$name" \
        >"$tmp/t.c"
    cp "$tmp/t.c" "$tmp/t.cpp"
    cp "$tmp/t.c" "$tmp/t.cu"
    more=
    case $name in
    shpool/memory_resource.hpp)
        # cuda::mr's headers belong to CUDA
        more="-DLIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE -isystem $cuda/cccl -isystem $cuda"
        [ -e "$cuda/cccl/cuda/memory_resource" ] || continue
        ;;
    esac
    case $name in
    *.cuh) ;;
    *)
        # $CC and the like may hold options; MGPU's *.h are C++
        # shellcheck disable=SC2086
        case $name in
        shpool/compat/util/* | shpool/compat/mgpuenums.h | *.hpp) ;;
        *) check "C11   $name" $CC -std=c11 $warn $include -fsyntax-only "$tmp/t.c" ;;
        esac
        # shellcheck disable=SC2086
        check "C++17 $name" $CXX -std=c++17 $warn $include $more -fsyntax-only "$tmp/t.cpp"
        ;;
    esac
    # executor.h launches kernels that the host compiler built: not for nvcc
    if [ "$name" = shpool/executor.h ]; then
        continue
    elif ! grep -q '__CUDA\|cuda/' "$file" && [ "$name" = "${name%.cuh}" ]; then
        printf '#include <%s>\n' "$name" >>"$tmp/all.cu"
    elif [ -n "$NVCC" ]; then
        # shellcheck disable=SC2086
        check "nvcc  $name" $NVCC -std=c++17 -arch="sm_$cuda_low" $include ${more%%-isystem*} \
            -rdc=true -ptx -o "$tmp/t.ptx" "$tmp/t.cu"
    fi
done
# shellcheck disable=SC2086
[ -z "$NVCC" ] || check "nvcc  all others" $NVCC -std=c++17 -arch="sm_$cuda_low" $include \
    -rdc=true -ptx -o "$tmp/t.ptx" "$tmp/all.cu"

if [ -n "$nvrtc_headers" ]; then
    for name in types.h abi.h layout.h layout.cuh simt.h module.h shpool.cuh shpool.hpp \
        after.h stage.cuh loadstore.cuh compat/mgpudevice.cuh; do
        # NVRTC code is bound to its allocator by a define, or linked at run time
        check "NVRTC shpool/$name" "$top_builddir/$nvrtc_headers" "shpool/$name" \
            "--gpu-architecture=compute_$cuda_low" -std=c++17 \
            "-I$top_builddir/include" "-I$top_srcdir/include"
    done
    # the options that CuPy passes to NVRTC: shpool.cupy.options()
    for options in -DSHPOOL_INLINE=bitmap "-DSHPOOL_INLINE=freelist -DSHPOOL_CHECK" \
        "-DSHPOOL_INLINE=thread_bitmap -DSHPOOL_SPILL"; do
        # several options
        # shellcheck disable=SC2086
        check "NVRTC examples/rows.cuh $options" "$top_builddir/$nvrtc_headers" examples/rows.cuh \
            "--gpu-architecture=compute_$cuda_low" -std=c++17 $options \
            "-I$top_builddir/include" "-I$top_srcdir/include" "-I$top_srcdir"
    done
    # cooperative_groups is among CUDA's headers, which NVRTC does not know by itself
    if [ -e "$cuda/cooperative_groups.h" ]; then
        for arch in "$cuda_low" 90; do
            check "NVRTC shpool/groups.cuh, $arch" "$top_builddir/$nvrtc_headers" \
                shpool/groups.cuh "--gpu-architecture=compute_$arch" -std=c++17 \
                "-I$top_builddir/include" "-I$top_srcdir/include" "-I$cuda" "-I$cuda/cccl"
        done
    fi
    for name in $allocators; do
        check "NVRTC shpool/allocators/$name/$name.h" "$top_builddir/$nvrtc_headers" \
            "shpool/allocators/$name/$name.h" \
            "--gpu-architecture=compute_$cuda_low" -std=c++17 \
            "-I$top_builddir/include" "-I$top_srcdir/include"
    done
fi
exit $failed
