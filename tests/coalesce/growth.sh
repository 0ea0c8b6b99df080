#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Large inputs: work grows as the input does.  Each kernel that is rewritten below took more than
# 5 s of processor time when something in it was compared with everything else, and takes about
# 0.3 s now.  The last step is about excerpts.
#
#   growth.sh [PERCENT]     sizes, of those below [100]
#   top_srcdir top_builddir
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
# shellcheck disable=SC2154,SC2317 # work and failed are those of checks.sh; run is called by it
set -u
: "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
tool=$(cd "$top_builddir" && pwd)/shpool-coalesce
percent=${1:-100}

# kernel NAME COUNT: a file with a kernel that has COUNT of the things that NAME describes
kernel() {
    awk -v kind="$1" -v n=$(($2 * percent / 100)) '
    function start() {
        print ".version 8.0\n.target sm_80\n.address_size 64"
        print ".visible .entry " kind "(.param .u64 " kind "_param_0, .param .u64 " kind "_param_1)"
        print "{"
        if (kind != "declarations")
            print ".reg .pred %p<9>; .reg .b32 %r<900000>; .reg .b64 %rd<900000>;"
        else
            print ".reg .b32 %r1; .reg .b64 %rd1, %rd2, %rd3, %rd4, %rd5;"
        for (i = 0; kind == "declarations" && i < n; i++) print ".reg .b32 %a" i ";"
        print "ld.param.u64 %rd1, [" kind "_param_0]; ld.param.u64 %rd4, [" kind "_param_1];"
        print "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 28;"
        print "add.s64 %rd3, %rd1, %rd2; add.s64 %rd5, %rd4, %rd2;"
    }
    function field(i) { return i % 7 * 4 + int(i / 7) * 28000 }
    BEGIN {
        start()
        if (kind == "bases") print "mul.lo.s64 %rd3, %rd2, %rd4;"
        if (kind == "nested") print "setp.ne.s32 %p1, %r1, 0;"
        for (i = 0; i < n; i++) {
            if (kind == "branches")
                print "setp.ne.s32 %p1, %r1, 0; @%p1 bra $L" i ";\nst.global.u32 [%rd3], 1;$L" i ":"
            if (kind == "nested") print "@%p1 bra $L" i ";"
            if (kind == "loops")
                print "$L" i ":add.s64 %rd3, %rd3, 28;\nld.global.u32 %r2, [%rd3];@%p1 bra $L" i ";"
            if (kind == "declarations") print "mov.b32 %a" i ", %r1;"
            if (kind == "bases") {
                print "mad.lo.s64 %rd" i + 10 ", %rd4, " i ", %rd3;"
                print "ld.global.nc.u32 %r" i + 9 ", [%rd" i + 10 "];"
            }
            if (kind == "odd") print "ld.global.u32 %r" i + 9 ", [%rd3+%r1];"
            if (kind == "copies") print "ld.global.nc.u32 %r" i + 9 ", [%rd3+" field(i) "];"
            if (kind == "definitions") print "add.s64 %rd3, %rd3, %rd5; add.s64 %rd5, %rd5, %rd3;" \
                "ld.global.u32 %r5, [%rd3]; @%p1 bra $L" i "; $L" i ":"
            if (kind == "places")
                print ".loc " 1 + i % 2 * i " " 4 * i + 1 " 2\nst.global.u32 [%rd3], 1; bar.sync 0;"
        }
        for (i = n - 1; i >= 0 && kind == "nested"; i--) print "st.global.u32 [%rd3], 1; $L" i ":"
        for (i = 0; i < n && kind == "copies"; i++)
            print "st.global.u32 [%rd5+" field(i) "], %r" i + 9 ";"
        print "ret;\n}"
        for (i = 0; i < n && kind == "places"; i++)
            print ".file " i + 1 " \"" (i ? "no" i : "lines" n) ".cu\""
    }'
}

run() { # few or many
    # shellcheck disable=SC2086 # options are words
    (cd "$work" && exec "$tool" $options "$1.ptx" >found 2>log) || {
        head -1 "$work/log"
        return 1
    }
}

# step NAME COUNT OPTION...: such a kernel, and one that has an eighth
step() {
    name=$1
    kernel "$name" $(($2 / 8)) >"$work/few.ptx"
    kernel "$name" "$2" >"$work/many.ptx"
    shift 2
    options=$*
    check_linear "$1 $name" run
}

step branches 41000 rewrite -f -o rewritten.ptx
step nested 46000 rewrite -f -o rewritten.ptx
step loops 37000 rewrite -f -o rewritten.ptx
step declarations 54000 rewrite -f -o rewritten.ptx
step bases 15000 rewrite -f -o rewritten.ptx
step odd 20000 rewrite -f -o rewritten.ptx
step copies 20000 rewrite -f -o rewritten.ptx
step definitions 5500 rewrite -f -o rewritten.ptx
# long sources: reading them again, or looking for a line from their start, for each finding must
# take longer than all the rest
for count in $((20000 / 8 * percent / 100)) $((20000 * percent / 100)); do
    seq -f %025.0f $((4 * count)) >"$work/lines$count.cu"
done
step places 20000 lint -c always
check "excerpts" test "$(grep -c ' | [0-9]' "$work/found")" -gt $((9000 * percent / 100))
exit $failed
