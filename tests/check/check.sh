#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-check finds the bug of each scene of scenes.cu, and nothing in correct ones; places, exit
# status, SARIF and JUnit; README's first program for a GPU with every allocator; what is not there
# is an error that names it.
#
#   top_srcdir, top_builddir, allocators
#
# Exit: 0; 1; 77: there is no clang++ 14 or newer.
set -u
srcdir=$(cd "${top_srcdir:-.}" && pwd)
builddir=$(cd "${top_builddir:-.}" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/shpool-check-test.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

version=$(clang++ -dumpversion 2>/dev/null | sed 's/\..*//')
if [ "${version:-0}" -lt 14 ]; then
    echo "SKIP: clang++ 14 or newer is missing"
    exit 77
fi
mkdir "$tmp/lib"
ln -s "$srcdir/include" "$tmp/include"
ln -s "$builddir/libshpool_check.a" "$builddir"/.libs/libshpool.so* "$tmp/lib/"
tool() {
    "$builddir/shpool-check" --root "$tmp" "$@"
}
fail() {
    echo "FAIL $*"
    failed=1
}
# the rules of the findings in a file
rules() {
    sed -n 's/^shpool-check: \([a-z-]*\)\( (note)\)\{0,1\}: .*/\1/p' "$1" | sort -u | tr '\n' ' '
}

tool -o "$tmp/scenes" "$srcdir/tests/check/scenes.cu" || { fail "scenes.cu is not built"; exit 1; }
"$tmp/scenes" >"$tmp/list"
[ "$(wc -l <"$tmp/list")" -gt 50 ] || fail "scenes are missing"
while read -r name rule; do
    asked=budget=20
    case $name in explore_*) asked=explore=3 ;; esac
    LIBSHPOOL_CHECK=$asked "$tmp/scenes" "$name" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    found=$(rules "$tmp/err")
    case $rule in
    none) [ "$found$status" = 0 ] && [ ! -s "$tmp/out" ] ;;
    leak | left-early | launch) [ "$found" = "$rule " ] && [ $status = 0 ] ;;
    *) case " $found" in *" $rule "*) [ $status = 1 ] ;; *) false ;; esac ;;
    esac || { fail "$name: $rule expected, found $found(exit $status)"; cat "$tmp/out" "$tmp/err"; }
done <"$tmp/list"

# Places, and the exit status of notes.
"$tmp/scenes" race_with_places 2>"$tmp/err"
for place in 'place 1' 'place 2'; do
    line=$(grep -n "/\* $place \*/" "$srcdir/tests/check/scenes.cu" | sed 's/:.*//')
    grep -q "thread [0-9]* of block 0: .*scenes.cu:$line in kernel_race" "$tmp/err" ||
        fail "no $place: $(cat "$tmp/err")"
done
LIBSHPOOL_CHECK=strict=1 "$tmp/scenes" leak 2>/dev/null && fail "a leak with strict=1"

# A program of two files, its arguments and its exit status; SARIF and JUnit.
cat >"$tmp/kernel.cuh" <<'EOF'
__global__ void set(int *at, int n) { at[n] = VALUE; }
EOF
cat >"$tmp/main.cu" <<'EOF'
#include "kernel.cuh"
int other();
int main(int argc, char **argv)
{
    int *at;
    cudaMalloc(&at, 16);
    set<<<1, 1>>>(at, atoi(argv[1]));
    cudaFree(at);
    return argc == 2 ? other() : 9;
}
EOF
echo 'int other() { return 5; }' >"$tmp/other.cpp"
set -- "$tmp/main.cu" "$tmp/other.cpp" -- -DVALUE=1 -arch=sm_90 -O3 -Xcompiler -Wall --
tool "$@" 3 2>"$tmp/err"
[ $? = 5 ] || fail "exit status of the program: $(cat "$tmp/err")"
tool --sarif "$tmp/sarif" --junit "$tmp/junit" --seeds 2 "$@" 4 2>"$tmp/err"
[ $? = 1 ] || fail "exit status of a finding: $(cat "$tmp/err")"
grep -q '"ruleId": "bounds"' "$tmp/sarif" && grep -q '"startLine": 1' "$tmp/sarif" ||
    fail "SARIF: $(cat "$tmp/sarif")"
grep -q '<failure type="bounds".*' "$tmp/junit" || fail "JUnit: $(cat "$tmp/junit")"

# What is not there.
refuses() { # SOURCE TEXT
    echo "$1" >"$tmp/not.cu"
    tool "$tmp/not.cu" 2>"$tmp/err"
    [ $? = 2 ] && grep -q "$2" "$tmp/err" || fail "not refused: $1: $(cat "$tmp/err")"
}
refuses '__global__ void k(int *p) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(*p)); }' \
    'inline PTX.*not.cu:1'
refuses '#include <mma.h>' mma.h
refuses '__global__ void k(cudaTextureObject_t t) { tex1Dfetch<float>(t, 0); }' cudaTextureObject_t
refuses 'int main() { cublasHandle_t h; }' cublasHandle_t

# README's first program for a GPU.
awk '/^```cuda/ { p = 1; next } /^```/ { p = 0 } p' "$srcdir/README.md" >"$tmp/readme.cu"
if tool -o "$tmp/readme" "$tmp/readme.cu"; then
    for allocator in $allocators bitmap:check=1 bitmap:stats=1 "bitmap:trace=$tmp/run.trace"; do
        lines=0 # of the report that check=1 and stats=1 write
        case $allocator in *check=1 | *stats=1) lines=1 ;; esac
        SHPOOL_ALLOCATOR=$allocator "$tmp/readme" >"$tmp/out" 2>&1 &&
            [ "$(grep -c . "$tmp/out")" = $lines ] &&
            [ "$(grep -c ' 33792 mallocs, 0 failed, 0 never freed, ' "$tmp/out")" = $lines ] ||
            fail "README with $allocator: $(cat "$tmp/out")"
    done
    [ -s "$tmp/run.trace" ] || fail "no trace"
else
    fail "README's program is not built"
fi
[ $failed = 0 ] && echo "PASS shpool-check"
exit $failed
