#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The rewrite in clang: plain and rewritten kernels give the same results in the warp emulator;
# faults that are planted in the rewrite are found; its remarks, the lint's findings and the
# messages about invalid input are as expected.  Needs LLVM, but neither a GPU nor CUDA.
#
#   top_srcdir, top_builddir, llvm_bindir, llvm_library, CC
#
# Prints PASS or FAIL for each part.  Exit: 0; 1; 77: built without LLVM.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
plugin=$build/coalesce/shpool-coalesce.so
: "${CC:=cc}"
if [ -z "${llvm_bindir:-}" ] || [ ! -f "$plugin" ]; then
    echo "built without LLVM"
    exit 77
fi
clang=$llvm_bindir/clang++ opt=$llvm_bindir/opt
if [ ! -x "$clang" ] || [ ! -x "$opt" ]; then
    echo "no clang++ and opt in $llvm_bindir"
    exit 77
fi
LLC=$llvm_bindir/llc
export LLC CC
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
# shellcheck source=tests/coalesce/decisions.sh
. "$src/tests/coalesce/decisions.sh"

# device OPTIONS SOURCE OUT.ll [FLAG...]: to IR for the GPU; OPTIONS of the pass, or none
device() {
    options=$1 source=$2 out=$3
    shift 3
    if [ "$options" != none ]; then
        set -- "$@" -fpass-plugin="${used_plugin:-$plugin}"
    fi
    (cd "$src/tests/coalesce" && SHPOOL_COALESCE=$options "$clang" -x cuda -nocudainc -nocudalib \
        -Wno-unknown-cuda-version -include cuda.h --cuda-gpu-arch=sm_90 \
        --cuda-device-only -O2 -gline-tables-only -S -emit-llvm "$@" "$source" -o "$out")
}

host() { # NAME: NAME.ll to NAME.so
    sh "$src/tests/coalesce/host.sh" "$work/$1.ll" "$work/$1.so"
}

emulate() {
    "$build/tests/coalesce/emulate" "$@"
}

# ---- the suite, by the cost rule and by force ----
device none kernels.cu "$work/plain.ll" && host plain || exit 1
for options in "" force; do
    name=rewritten$options
    device "$options" kernels.cu "$work/$name.ll" && host $name &&
        emulate "$work/plain.so" "$work/$name.so" >"$work/$name.log"
    status=$?
    grep -E '^FAIL|^  ' "$work/$name.log"
    result $status "suite ${options:-by the cost rule}: $(tail -n 1 "$work/$name.log")"
done

# Kernels with a guard, in which a warp must have been whole at least once.
never=$(sed -n 's/^ok *\([a-z0-9_]*\):.*; 0 of [1-9][0-9]* guards.*/\1/p' \
    "$work/rewrittenforce.log" | tr '\n' ' ')
[ "$never" = "odd_lanes9 early9 " ] # by their nature
result $? "each rewritten kernel was executed both ways (never whole: $never)"

# ---- the kernels that are measured; `transposed` needs more memory than the emulator has ----
measured=$(sed -n 's/^ *SUITE(\([a-z0-9_]*\), [0-9].*/\1/p' "$src/tools/bench/coalesce/suite.h" |
    grep -v transposed)
device none ../../tools/bench/coalesce/kernels.cu "$work/measured.ll" && host measured &&
    device "" ../../tools/bench/coalesce/kernels.cu "$work/measured2.ll" && host measured2 &&
    emulate "$work/measured.so" "$work/measured2.so" $measured >"$work/measured.log"
status=$?
grep -E '^FAIL|^  ' "$work/measured.log"
result $status "measured kernels: $(tail -n 1 "$work/measured.log")"

# ---- the defects of an earlier pass ----
defects=$(sed -n 's/^KERNEL \([a-z0-9_]*\)(.*/\1/p' "$src/tests/coalesce/clang_defects.cu")
device none clang_defects.cu "$work/defects.ll" && host defects &&
    device force,remarks clang_defects.cu "$work/defects2.ll" 2>"$work/defects.remarks" &&
    host defects2 &&
    emulate "$work/defects.so" "$work/defects2.so" $defects >"$work/defects.log"
status=$?
grep -E '^FAIL|^  ' "$work/defects.log"
result $status "defects: $(tail -n 1 "$work/defects.log")"
# patterns that COALDA did not recognise, or only in one form, are recognised
for kernel in d01_first d01_second d02_order d03_guard d10_fields d11_size d14_arithmetic \
    d19_locals d20_shape d21_loop r3_begins_elsewhere r7_own_step; do
    grep -q "$kernel: .*rewritten" "$work/defects.remarks"
    result $? "$kernel is rewritten"
done
grep -q "d13_volatile: .*kept: an access is volatile" "$work/defects.remarks"
result $? "volatile is kept, and said why"

# ---- accesses that must be kept, and checks at run time ----
"$opt" -load-pass-plugin="$plugin" -passes='shpool-coalesce<force>' -S \
    "$src/tests/coalesce/legal.ll" -o "$work/legal.ll" &&
    awk '/^define/ { split($0, at, "@"); sub(/[(].*/, "", at[2]); whole = asked = 0 }
         /activemask/ { whole++ }
         /isspacep\.global/ { asked++ }
         /^}/ { print at[2], whole, asked }' "$work/legal.ll" >"$work/legal.txt"
wrong=$(sed -e '/^keep_[a-z]* 0 0$/d' -e '/^just_[a-z]* 1 0$/d' -e '/^ask_[a-z]* 1 1$/d' \
    "$work/legal.txt")
[ -z "$wrong" ] && [ "$(grep -c . "$work/legal.txt")" = "$(grep -c '^define' \
    "$src/tests/coalesce/legal.ll")" ]
result $? "order, spaces and wrapping are respected${wrong:+, but not by $wrong}"

# ---- random kernels, until the time is over ----
end=$(($(date +%s) + ${fuzz_seconds:-5}))
seed=1 compared=0 rewritten=0 status=0
while [ $status = 0 ] && { [ $seed = 1 ] || [ "$(date +%s)" -lt $end ]; }; do
    "$build/tests/coalesce/fuzz" $seed 20 >"$work/fuzz.cu" &&
        device none "$work/fuzz.cu" "$work/fuzz.ll" -w && host fuzz &&
        device force,remarks "$work/fuzz.cu" "$work/fuzz2.ll" -w 2>"$work/fuzz.remarks" &&
        host fuzz2 &&
        emulate "$work/fuzz.so" "$work/fuzz2.so" \
            $(sed -n 's/^KERNEL \([a-z0-9_]*\)(.*/\1/p' "$work/fuzz.cu") >"$work/fuzz.log"
    status=$?
    grep -E '^FAIL|^  ' "$work/fuzz.log"
    compared=$((compared + $(tail -n 1 "$work/fuzz.log" | cut -d' ' -f1)))
    rewritten=$((rewritten + $(grep -c 'rewritten: ' "$work/fuzz.remarks")))
    seed=$((seed + 1))
done
[ $rewritten -gt 0 ] || status=1
result $status "random kernels: seeds 1 to $((seed - 1)), $compared comparisons, $rewritten records"

# ---- faults ----
sh "$src/tests/coalesce/faults.sh" "$work" || failed=1

# ---- messages ----
# advice that was given before is a number after its finding
device lint kernels.cu /dev/null 2>&1 | sed 's/ (measured.*GB.s)//' | awk '
    /^        try: / {
        if ($0 in known) { held = held " try " known[$0]; next }
        known[$0] = ++count
        $0 = $0 " (" count ")"
    }
    NR > 1 { print held }
    { held = $0 }
    END { print held }' >"$work/lint.txt"
diff -u "$src/tests/coalesce/clang_lint.txt" "$work/lint.txt"
result $? "lint of the suite"
device remarks kernels.cu /dev/null 2>"$work/O2.remarks"
sed 's/ (measured.*GB.s)//' "$work/O2.remarks" >"$work/remarks.txt"
diff -u "$src/tests/coalesce/clang_remarks.txt" "$work/remarks.txt"
result $? "remarks on the suite"

for kernel in $(grep -B 1 'the clang plugin, which rewrites' "$work/lint.txt" |
    sed -n 's/^[^ ]*: [a-z]*: \([a-z0-9_]*\): .*/\1/p' | sort -u); do
    grep -q "remark: $kernel: .* rewritten: " "$work/remarks.txt" || echo "$kernel"
done >"$work/wrong.txt"
[ ! -s "$work/wrong.txt" ] && grep -q 'which rewrites' "$work/lint.txt"
result $? "what the lint says would be rewritten, is $(cat "$work/wrong.txt")"

# ---- places: without debug information the file, of code without a line the function's ----
cat >"$work/places.cu" <<'END'
#include "places.h"
__global__ void mine(int *to, int *from) { to[7 * threadIdx.x] = read(from) + 1; }
END
mkdir -p "$work/include/shpool"
echo '__device__ inline int read(int *from) { return from[7 * threadIdx.x]; }' \
    >"$work/include/shpool/places.h"
places() { # OPTIONS FLAG...: the findings' places
    options=$1
    shift
    device "$options" "$work/places.cu" /dev/null -I"$work/include/shpool" "$@" 2>&1 |
        sed -n -e 's/: warning: .*//p' -e 's/^.*: 1 finding in .*/left out/p' | sed 's/.*\///' |
        tr '\n' ' '
}
[ "$(places lint -g0)" = "places.cu places.cu " ] &&
    [ "$(places lint)" = "left out places.cu:2:64 " ] &&
    [ "$(places lint,headers)" = "places.h:1:48 places.cu:2:64 " ]
result $? "places and headers: $(places lint -g0), $(places lint), $(places lint,headers)"

# ---- both routes make the same decisions: nvcc.sh compares nvcc's with both.txt ----
shortened() {
    sed -e 's/ (measured.*//' -e 's/; in 1 loop.*//' -e 's/ \[.*//'
}
kernels=$(sed -n 's/^KERNEL \([a-z0-9_]*\)(.*/\1/p' "$src/tests/coalesce/both.cu")
shortened <"$src/tests/coalesce/both.txt" >"$work/nvcc.txt"
for kernel in $kernels; do
    grep "remark: $kernel: " "$work/remarks.txt"
done | shortened | decisions >"$work/clang.txt"
same "nvcc's route and clang's decide alike about $(echo $kernels | wc -w) kernels" \
    "$work/nvcc.txt" "$work/clang.txt"

# ---- files of IR and bitcode, by the tool ----
tool() {
    SHPOOL_COALESCE_PLUGIN=$plugin "$build/shpool-coalesce" "$@"
}
"$llvm_bindir/llvm-as" "$work/plain.ll" -o "$work/plain.bc"
for file in plain.ll plain.bc; do
    tool lint --fail-on warning "$work/$file" >"$work/tool.txt"
    [ $? = 1 ] && grep -q 'kernels.cu:59:1: warning: mix9: 9 global loads' "$work/tool.txt"
    result $? "shpool-coalesce lint $file"
done
tool lint --skip mix9 "$work/plain.bc" | grep -q mix9
[ $? = 1 ]
result $? "shpool-coalesce lint --skip"
echo 'define nonsense' >"$work/bad.ll"
tool lint "$work/bad.ll" 2>"$work/tool.txt"
[ $? = 3 ] && grep -q 'bad.ll:1:8: error: ' "$work/tool.txt"
result $? "shpool-coalesce lint of what is no IR"
echo 'target triple = "x86_64-pc-linux-gnu"' >"$work/host.ll"
tool lint "$work/host.ll" 2>"$work/tool.txt"
[ $? = 3 ] && grep -q "it is for 'x86_64-pc-linux-gnu', not for nvptx64" "$work/tool.txt"
result $? "shpool-coalesce lint of host code"

# ---- options and bad input ----
device "forse" kernels.cu "$work/bad.ll" 2>"$work/bad.txt"
grep -q "SHPOOL_COALESCE: unknown option 'forse'; known: lint," "$work/bad.txt" &&
    ! grep -q activemask "$work/bad.ll"
result $? "an unknown option is named, and nothing is rewritten"

"$opt" -load-pass-plugin="$plugin" -passes='shpool-coalesce<force>' -S "$work/plain.ll" \
    -o "$work/opt.ll" && grep -q activemask "$work/opt.ll" &&
    "$opt" -passes=verify "$work/opt.ll" -o /dev/null
result $? "opt -passes='shpool-coalesce<force>'"
"$opt" -load-pass-plugin="$plugin" -passes='shpool-coalesce-lint' -S "$work/plain.ll" \
    -o "$work/opt.ll" 2>"$work/opt.txt" && grep -q 'warning: mix9' "$work/opt.txt" &&
    ! grep -q activemask "$work/opt.ll"
result $? "opt -passes=shpool-coalesce-lint"
! "$opt" -load-pass-plugin="$plugin" -passes='shpool-coalesce<nonsense>' -S "$work/plain.ll" \
    -o "$work/opt2.ll" 2>"$work/opt.txt" && grep -q "unknown option 'nonsense'" "$work/opt.txt"
result $? "opt with an unknown option"

printf 'define void @f(ptr %%p) { retvoid }\n' >"$work/broken.ll"
! "$opt" -load-pass-plugin="$plugin" -passes=shpool-coalesce -S "$work/broken.ll" \
    -o "$work/o.ll" 2>"$work/broken.txt" && grep -q 'error: ' "$work/broken.txt" &&
    [ ! -e "$work/o.ll" ]
result $? "a syntax error:$(sed -n 's/.*error://p' "$work/broken.txt" | head -n 1)"

cat >"$work/off.cu" <<'END'
extern "C" __global__ __attribute__((annotate("shpool-coalesce=off"))) void
off(unsigned *__restrict__ to, const unsigned *__restrict__ from) {
    for (int k = 0; k < 9; k++) to[9 * threadIdx.x + k] = from[9 * threadIdx.x + k] + k;
}
END
device remarks "$work/off.cu" "$work/off.ll" 2>"$work/off.txt"
grep -q "kept: an option or the kernel's mark says so" "$work/off.txt" &&
    ! grep -q activemask "$work/off.ll"
result $? "a kernel that opted out"

device force,remarks kernels.cu "$work/old.ll" --cuda-gpu-arch=sm_61 \
    --no-cuda-gpu-arch=sm_90 2>"$work/old.txt"
grep -q 'mix9: .*kept: target or version of the input are too old' "$work/old.txt" &&
    ! grep -q activemask "$work/old.ll"
result $? "sm_61 is left alone"

cat >"$work/host.c" <<'END'
void f(int *to, const int *from, int t) { for (int k = 0; k < 9; k++) to[9 * t + k] = from[k]; }
END
"$llvm_bindir/clang" -O2 -S -emit-llvm "$work/host.c" -o "$work/host1.ll" &&
    SHPOOL_COALESCE=force "$llvm_bindir/clang" -O2 -S -emit-llvm -fpass-plugin="$plugin" \
        "$work/host.c" -o "$work/host2.ll" && cmp "$work/host1.ll" "$work/host2.ll"
result $? "host code is left alone"

SHPOOL_COALESCE=remarks "$clang" -x cuda -nocudainc -nocudalib -Wno-unknown-cuda-version \
    -include "$src/tests/coalesce/cuda.h" --cuda-gpu-arch=sm_90 --cuda-device-only -O0 -S \
    -emit-llvm -fpass-plugin="$plugin" "$src/tests/coalesce/kernels.cu" -o /dev/null \
    2>"$work/O0.txt"
grep -q 'use -O1 or more' "$work/O0.txt"
result $? "-O0 is said to be too little"

# ---- COALDA's own commands: code of -O0 that may be optimised, by clang and by opt ----
device none kernels.cu "$work/raw.ll" -O0 -Xclang -disable-O0-optnone &&
    device remarks kernels.cu "$work/raw2.ll" -O0 -Xclang -disable-O0-optnone \
        2>"$work/raw.remarks" &&
    host raw2 && emulate "$work/plain.so" "$work/raw2.so" >"$work/raw.log"
status=$?
grep -E '^FAIL|^  ' "$work/raw.log"
result $status "suite of -O0: $(tail -n 1 "$work/raw.log")"
for level in O2 raw; do
    sed -n 's/.*remark: \([^:]*: [^(]*\) rewritten: .*/\1/p' "$work/$level.remarks" |
        sort >"$work/$level.done"
done
[ -s "$work/O2.done" ] && cmp "$work/O2.done" "$work/raw.done"
result $? "in code of -O0 is rewritten what is in code of -O2"
"$opt" -load-pass-plugin="$plugin" -passes=shpool-coalesce -S "$work/raw.ll" \
    -o "$work/raw3.ll" &&
    [ "$(grep -c activemask "$work/raw3.ll")" = "$(grep -c activemask "$work/raw2.ll")" ]
result $? "and by opt, too"

# ---- all of -g: what describes variables stays where it is allowed ----
device "" kernels.cu "$work/full.ll" -O0 -Xclang -disable-O0-optnone -g 2>"$work/full.txt" &&
    [ ! -s "$work/full.txt" ] && host full &&
    emulate "$work/plain.so" "$work/full.so" open9 alias9 mix9 >"$work/full.log"
status=$?
cat "$work/full.txt"
result $status "with -g: $(tail -n 1 "$work/full.log")"

# ---- memory that runs out: an error, never other findings ----
cat >"$work/small.cu" <<'END'
__attribute__((annotate("shpool-coalesce=off"))) __global__ void off(int *to, int *from) {
    for (int k = 0; k < 9; k++) to[9 * threadIdx.x + k] = from[9 * threadIdx.x + k] + k;
}
__global__ void on(int *to, int *from) {
    for (int k = 0; k < 9; k++) to[9 * threadIdx.x + k] = from[9 * threadIdx.x + k] + k;
}
struct record { int word[6]; };
__global__ void copy(record *to, const record *from) { to[threadIdx.x] = from[threadIdx.x]; }
END
device none "$work/small.cu" "$work/small.ll" &&
    $CC -std=c11 -O1 -D_GNU_SOURCE -I"$src" -I"$src/include" -rdynamic \
    "$src/tests/coalesce/llvm_memory.c" -o "$work/memory" -ldl &&
    "$work/memory" "$llvm_library" "$plugin" "$work/small.ll"
result $? "each allocation of the lint fails once"

# never silent: a message says which command to use
cat >"$work/none.cu" <<'END'
__global__ void none(int *to, int *from) { to[threadIdx.x] = from[threadIdx.x]; }
END
device "" "$work/none.cu" "$work/none.ll" -O0 -Xclang -disable-O0-optnone 2>"$work/none.txt" &&
    [ "$(grep -c 'SHPOOL_COALESCE=remarks says why' "$work/none.txt")" = 1 ] &&
    device "" "$work/none.cu" "$work/none.ll" -O0 2>"$work/none.txt" &&
    [ "$(grep -c 'add -Xclang -disable-O0-optnone' "$work/none.txt")" = 1 ] &&
    device "" "$work/none.cu" "$work/none.ll" 2>"$work/none.txt" && [ ! -s "$work/none.txt" ]
result $? "of -O0 nothing is left without a word"
exit $failed
