#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Checks the machine code of loadstore.cuh: no kernel of tests/loadstore/kernels.cu has a stack
# frame, so no register array is in local memory; thread order has the wide accesses and shuffles
# that its paths promise.  No GPU needed.
#
#   NVCC        [nvcc]
#   sass_archs  architectures [75 80 90 100 120]
#   top_srcdir  source folder [the one above this script's]
#
# Prints a PASS or FAIL line for each architecture.  Exit: 0; 1; 77: no nvcc.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=${top_srcdir:-$here/../..}
NVCC=${NVCC-nvcc} # empty: built without CUDA
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-sass.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

[ -n "$NVCC" ] && command -v "${NVCC%% *}" >/dev/null 2>&1 || {
    echo "skipped: no nvcc ($NVCC)"
    exit 77
}

# count WHAT KERNEL: lines of the kernel's PTX
count() {
    sed -n "/entry $2(/,/^}/p" "$tmp/kernels.ptx" | grep -c "$1"
}

# expect TEXT FOUND WANTED
expect() {
    if [ "$2" -ne "$3" ]; then
        echo "FAIL sm_$arch: $1: $2, not $3"
        failed=1
    fi
}

for arch in $(echo "${sass_archs:-75 80 90 100 120}" | tr ',' ' '); do
    if ! ${NVCC%% *} --list-gpu-code | grep -q "sm_$arch\$"; then
        echo "SKIP sm_$arch: this nvcc does not know it"
        continue
    fi
    # $NVCC may hold options
    # shellcheck disable=SC2086
    if ! $NVCC -std=c++17 -arch="sm_$arch" -I"$src/include" -Xptxas -v -cubin -o "$tmp/t.cubin" \
        --keep --keep-dir "$tmp" "$src/tests/loadstore/kernels.cu" >"$tmp/log" 2>&1 ||
        ! [ -s "$tmp/kernels.ptx" ]; then # --keep leaves it
        cat "$tmp/log"
        echo "FAIL sm_$arch: does not compile"
        failed=1
        continue
    fi
    kernels=$(grep -c 'bytes stack frame' "$tmp/log")
    clean=$(grep -c ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$tmp/log")
    if [ "$kernels" -lt 30 ]; then
        echo "FAIL sm_$arch: only $kernels kernels were found"
        failed=1
    fi
    expect "kernels without a stack frame" "$clean" "$kernels"
    # 15 floats: 15 coalesced loads of a word, 15 shuffles
    expect "shuffles of thread15" "$(count 'shfl.sync' thread15)" 15
    # a full tile of 16 floats: 4 loads of 16 bytes, 16 shuffles; 16 more by words if misaligned
    expect "wide loads of thread16" "$(count 'ld.global.v4' thread16)" 4
    expect "shuffles of thread16" "$(count 'shfl.sync' thread16)" 32
    if [ "$arch" -ge 80 ]; then
        found=$(count 'cp.async.cg' stage11)
        [ "$found" -ge 3 ] || expect "asynchronous copies of stage11" "$found" 3
    fi
    if [ "$arch" -ge 90 ]; then
        expect "bulk loads of gate8" "$(count 'cp.async.bulk.shared' gate8)" 1
        expect "bulk stores of bulk8" "$(count 'cp.async.bulk.global' bulk8)" 1
    fi
    [ $failed != 0 ] || echo "PASS sm_$arch: $kernels kernels without a stack frame"
done
exit $failed
