#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run-time linking up to the cubin: every form that a kernel may be shipped in, every allocator, and
# the cache.  Without a GPU, in the build folder.
#
#   NVCC, top_srcdir   compiler and source folder
#   cuda_low           the lowest architecture of this build
#   cuda_libdir        where libnvJitLink may be
#   allocators         those of this build
#
# Exit: 0; 1; 77: no nvcc, or no libnvJitLink.
set -u
info=./shpool-info
[ -n "${NVCC:-}" ] || { echo "skipped: built without nvcc"; exit 77; }
. "${top_srcdir:-.}/tests/build/checks.sh"
one=${allocators%% *}

refused() { # WORDS COMMAND...: it fails, and says so
    words=$1
    shift
    ! "$@" >"$work/refusal" 2>&1 && grep -q "$words" "$work/refusal"
}
is_for() { # FILE ARCH: a cubin, for that GPU
    readelf -h "$1" 2>/dev/null | grep -qi 'machine:.*cuda' &&
        { [ ! -x "$cuobjdump" ] || "$cuobjdump" -elf "$1" 2>/dev/null | grep -q "sm_$2"; }
}
cuobjdump=$(dirname "$(command -v "${NVCC%% *}" || echo /usr/local/cuda/bin/nvcc)")/cuobjdump

compile() { # FLAGS... : the example's kernel
    # NVCC may hold options
    # shellcheck disable=SC2086
    $NVCC -std=c++17 -I"$top_srcdir/include" -Iinclude "-arch=sm_$cuda_low" -rdc=true -dlto \
        "$@" "$top_srcdir/examples/linked_kernel.cu"
}
check "kernel as LTO-IR" compile -ltoir -o "$work/kernel.ltoir"
check "kernel as a fat binary" compile -fatbin -o "$work/kernel.fatbin"
check "kernel as an object" compile -dc -o "$work/kernel.o"
[ $failed = 0 ] || exit 1

$info link "$work/kernel.ltoir" --arch "sm_$cuda_low" >"$work/out" 2>&1
if grep -q 'no libnvJitLink was found' "$work/out"; then
    cat "$work/out"
    exit 77
fi

for form in ltoir fatbin o; do
    check "linked from $form" $info link "$work/kernel.$form" --arch "sm_$cuda_low" \
        --allocator "$one" -o "$work/$form.cubin"
    check "it is a cubin" is_for "$work/$form.cubin" "$cuda_low"
done
# A part of each form, and the fat binary with each half word of its first headers changed: an
# error, and not a signal; of LTO-IR nothing but its beginning tells how long it is.
survives() { # FILE
    timeout 20 $info link "$1" --arch "sm_$cuda_low" --allocator "$one" -o "$work/part.cubin" \
        >"$work/out" 2>&1
    status=$?
    [ $status = 1 ] || [ $status = 0 ] || echo "status $status: $(cat "$work/out")"
    [ $status = 1 ] || { [ $status = 0 ] && [ "$2" = damaged ]; }
}
for form in ltoir fatbin o; do
    bytes=$(wc -c <"$work/kernel.$form")
    for part in 1 20 70 $((bytes / 2)) $((bytes - 1)); do
        head -c "$part" "$work/kernel.$form" >"$work/part"
        check "$part bytes of $form" survives "$work/part" cut
    done
done
at=0
while [ $at -lt 88 ]; do
    for value in '\377\377' '\000\000'; do
        cp "$work/kernel.fatbin" "$work/part"
        # shellcheck disable=SC2059 # octal numbers
        printf "$value" | dd of="$work/part" bs=1 seek=$at conv=notrunc 2>"$work/log"
        check "byte $at of a fat binary: $value" survives "$work/part" damaged
    done
    at=$((at + 2))
done
if [ -w /dev/full ]; then
    check "a full disk" refused 'No space left on device' $info link "$work/kernel.ltoir" \
        --arch "sm_$cuda_low" -o /dev/full
    check "a full standard output" sh -c "! $info link '$work/kernel.ltoir' --arch sm_$cuda_low \
        2>'$work/why' >/dev/full && grep -q 'No space left on device' '$work/why'"
fi
echo old >"$work/old.cubin"
sh -c "trap '' XFSZ; ulimit -f 0; $info link '$work/kernel.ltoir' --arch sm_$cuda_low \
    -o '$work/old.cubin' || echo refused" 2>&1 | cat >"$work/why" # a pipe has no limit
check "a cut cubin" sh -c "grep -q 'File too large' '$work/why' && grep -qx refused '$work/why'"
check "the old one is as it was" grep -qx old "$work/old.cubin"
check "it is alone" test "$(echo "$work"/old.cubin*)" = "$work/old.cubin"
# LTO-IR for the lowest architecture serves later ones
for arch in 90 100 120; do
    [ "$arch" -ge "$cuda_low" ] || continue
    check "for sm_$arch" $info link "$work/kernel.ltoir" --arch sm_$arch -o "$work/$arch.cubin"
    check "it is a cubin" is_for "$work/$arch.cubin" $arch
done
for name in $allocators; do
    check "with $name" $info link "$work/kernel.ltoir" --arch "sm_$cuda_low" --allocator "$name"
    check "$name is stamped" sh -c "$info show $name | grep -q 'made by CUDA [0-9]'"
done
check "text is no kernel" refused 'nvJitLink failed at the kernel' $info link "$0" \
    --arch "sm_$cuda_low"

# ---- the folder of linked kernels ----
SHPOOL_CACHE_DIR=$work/cache
export SHPOOL_CACHE_DIR
link="$info link $work/kernel.ltoir --arch sm_$cuda_low --allocator $one"
check "linked, and kept" sh -c "$link -o $work/first.cubin | tee $work/first | grep -q nvJitLink"
check "found in the folder" sh -c "$link -o $work/second.cubin | tee $work/second |
    grep -q SHPOOL_CACHE_DIR && ! grep -q nvJitLink $work/second"
check "the same cubin" cmp "$work/first.cubin" "$work/second.cubin"
check "as without a folder" cmp "$work/first.cubin" "$work/ltoir.cubin"
if $info list --json >"$work/out" 2>&1; then
    check "as JSON" sh -c "$link --json | grep -q '\"disk\": [0-9]'"
fi
check "another GPU's is another" sh -c "$info link $work/kernel.ltoir --arch sm_120 \
    --allocator $one | grep -q nvJitLink"
cat "$work/first" "$work/second"
exit $failed
