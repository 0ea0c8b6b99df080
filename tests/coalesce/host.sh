#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Make device code run on this machine: NVPTX IR to a shared library whose special registers,
# barriers and shuffles are functions of coalesce/emulate.c.
#
#   coalesce/host.sh IN.ll OUT.so      LLC=llc-19 CC=cc
set -eu
in=$1 out=$2
: "${LLC:=llc-19}" "${CC:=cc}"
host=$out.ll

sed -E -e '/^target (datalayout|triple)/d' \
    -e 's/"(target-cpu|target-features|frame-pointer|uniform-work-group-size)"="[^"]*"//g' \
    -e 's/(tail )?call i32 asm sideeffect "activemask[^(]*\(\)/call i32 @emu_activemask()/' \
    -e 's/(tail )?call i32 asm "mov\.u32 [^(]*\(\)( #[0-9]+)?/add i32 64, 0/' \
    -e 's/@llvm\.nvvm\.read\.ptx\.sreg\./@emu_/g' \
    -e 's/@llvm\.nvvm\.shfl\.sync\.idx\.i32/@emu_shfl/g' \
    -e 's/@llvm\.nvvm\.shfl\.sync\.bfly\.i32/@emu_shfl_xor/g' \
    -e 's/@llvm\.nvvm\.vote\.all\.sync/@emu_vote_all/g' \
    -e 's/@llvm\.nvvm\.isspacep\.global/@emu_is_global/g' \
    -e 's/@llvm\.nvvm\.bar\.warp\.sync/@emu_warp_sync/g' \
    -e 's/@llvm\.nvvm\.barrier0/@emu_barrier/g' \
    -e 's/call (noundef )?range\(i32 [-0-9]+, [-0-9]+\) /call /' \
    -e 's/call noundef range\([^)]*\) /call /' \
    -e 's/@emu_([a-z]+)\.([xyz])/@emu_\1_\2/g' \
    -e '/^declare .*@emu_(vote_all|is_global)\(/d' "$in" >"$host"
cat >>"$host" <<'END'

declare i32 @emu_vote(i32, i32)
define internal i1 @emu_vote_all(i32 %mask, i1 %mine) {
  %wide = zext i1 %mine to i32
  %all = call i32 @emu_vote(i32 %mask, i32 %wide)
  %is = icmp ne i32 %all, 0
  ret i1 %is
}
declare i32 @emu_global(ptr)
define internal i1 @emu_is_global(ptr %p) {
  %yes = call i32 @emu_global(ptr %p)
  %is = icmp ne i32 %yes, 0
  ret i1 %is
}
END
grep -q 'declare.*@emu_activemask' "$host" || echo 'declare i32 @emu_activemask()' >>"$host"
$LLC -O1 -relocation-model=pic -mtriple="$($CC -dumpmachine)" -filetype=obj "$host" -o "$out.o"
$CC -shared -o "$out" "$out.o"
