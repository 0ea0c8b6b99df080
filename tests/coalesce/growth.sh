#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Large inputs: work grows as the input does.  Each kernel that is rewritten below took more than
# 5 s of processor time when something in it was compared with everything else; all of one step
# together take about 1 s now, and are stopped after 5.  The last step is about excerpts.
#
#   growth.sh [PERCENT]     sizes, of those below [100]
#   top_builddir
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
: "${top_builddir:=.}"
tool=$(cd "$top_builddir" && pwd)/shpool-coalesce
percent=${1:-100}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
failed=0

# kernel NAME COUNT: the kernel has COUNT of the things that NAME describes
kernel() {
    awk -v kind="$1" -v n=$(($2 * percent / 100)) '
    function start() {
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
                print ".loc " 1 + i % 2 * i " " i + 1 " 2\nst.global.u32 [%rd3], 1; bar.sync 0;"
        }
        for (i = n - 1; i >= 0 && kind == "nested"; i--) print "st.global.u32 [%rd3], 1; $L" i ":"
        for (i = 0; i < n && kind == "copies"; i++)
            print "st.global.u32 [%rd5+" field(i) "], %r" i + 9 ";"
        print "ret;\n}"
        for (i = 0; i < n && kind == "places"; i++)
            print ".file " i + 1 " \"source" (i ? i : "") ".cu\""
    }'
}

# step NAME COUNT... -- OPTION...: such kernels in one file
step() {
    kernels=
    printf '.version 8.0\n.target sm_80\n.address_size 64\n' >"$tmp/in.ptx"
    while [ "$1" != -- ]; do
        kernel "$1" "$2" >>"$tmp/in.ptx"
        kernels="$kernels $1"
        shift 2
    done
    shift
    (cd "$tmp" && ulimit -t 5 && "$tool" "$@" in.ptx >out 2>log)
    status=$?
    if [ $status -eq 0 ]; then
        echo "PASS $1:$kernels"
    else
        echo "FAIL $1:$kernels: status $status: $(head -1 "$tmp/log")"
        failed=1
    fi
}

step branches 41000 nested 46000 loops 37000 declarations 54000 -- rewrite -f -o out.ptx
step bases 15000 odd 20000 copies 20000 definitions 5500 -- rewrite -f -o out.ptx
seq 20000 >"$tmp/source.cu"
step places 20000 -- lint -c always
[ "$(grep -c ' | [0-9]' "$tmp/out")" -gt $((9000 * percent / 100)) ] || {
    echo "FAIL excerpts: $(head -4 "$tmp/out")"
    failed=1
}
exit $failed
