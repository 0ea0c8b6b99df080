#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libshpool_device.a as built: its members, its architectures, and that it exports no symbols.
#
#   cuda_archs   architectures it shall hold, separated by commas
#   NVCC         its folder may have cuobjdump
# Exit: 0; 1; 77: the archive does not exist.
set -u
archive=${1:-libshpool_device.a}
[ -f "$archive" ] || { echo "skipped: no $archive"; exit 77; }
# shellcheck source=tests/build/checks.sh
. "${top_srcdir:-.}/tests/build/checks.sh"

# Two shared libraries that both hold the archive must not share a symbol of it.
shown=$(readelf -sW "$archive" 2>/dev/null |
    awk '($5 == "GLOBAL" || $5 == "WEAK") && $6 == "DEFAULT" && $7 != "UND" { print $8 }' |
    sort -u | head -5)
[ -z "$shown" ]
result $? "every symbol that it defines is hidden $shown"
readelf -sW "$archive" 2>/dev/null | grep -q 'HIDDEN.*shpool_image_abi'
result $? "shpool_image_abi is there"
readelf -rW "$archive" 2>/dev/null | grep -qE 'R_X86_64_32S? |R_AARCH64_ABS32'
[ $? -ne 0 ]
result $? "position-independent"

cuobjdump=$(dirname "$(command -v "${NVCC%% *}" || echo /usr/local/cuda/bin/nvcc)")/cuobjdump
if [ -x "$cuobjdump" ]; then
    for arch in $(echo "${cuda_archs:-}" | tr , ' '); do
        "$cuobjdump" --list-elf "$archive" 2>/dev/null | grep -q "sm_$arch[^0-9]"
        result $? "native code for sm_$arch"
    done
    lowest=${cuda_archs%%,*}
    "$cuobjdump" --list-ptx "$archive" 2>/dev/null | grep -q "sm_$lowest[^0-9]"
    result $? "PTX of sm_$lowest"
else
    # Without cuobjdump only this much can be seen: that each architecture finds code it can link.
    archive=$(realpath "$archive")
    (cd "$work" && ar x "$archive")
    echo 'extern "C" __device__ int f(int x) { return x; }' >"$work/a.cu"
    for arch in $(echo "${cuda_archs:-}" | tr , ' '); do
        ${NVCC:-nvcc} -arch="sm_$arch" -rdc=true -cubin -o "$work/a.cubin" "$work/a.cu" &&
            "$(dirname "$cuobjdump")/nvlink" -arch="sm_$arch" -o "$work/out" "$work/a.cubin" \
                "$work"/*.o "-L${cuda_libdir:-.}" -lcudadevrt >"$work/log" 2>&1
        result $? "links for sm_$arch $(head -1 "$work/log")"
    done
fi
exit $failed
