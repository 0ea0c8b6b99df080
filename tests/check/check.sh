#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shpool-check finds the bug of each scene of scenes*.cu, and nothing in correct ones; places, exit
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

tool -o "$tmp/scenes" "$srcdir"/tests/check/scenes*.cu || { fail "scenes.cu is not built"; exit 1; }
"$tmp/scenes" >"$tmp/list"
[ "$(grep -c ' none$' "$tmp/list")" -ge 60 ] && [ "$(grep -vc ' none$' "$tmp/list")" -ge 80 ] ||
    fail "scenes are missing"
while read -r name rule; do
    asked=budget=20
    case $name in
    explore_*) asked=explore=3 ;;
    counts_*) asked=counts=1,strict=1 ;;
    esac
    LIBSHPOOL_CHECK=$asked "$tmp/scenes" "$name" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    found=$(rules "$tmp/err")
    case $rule in
    none) [ "$found$status" = 0 ] && [ ! -s "$tmp/out" ] ;;
    note:*) [ "$found" = "${rule#note:} " ] && [ $status = 0 ] ;;
    *) case " $found" in *" $rule "*) [ $status = 1 ] || [ $rule = crash ] ;; *) false ;; esac ;;
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

# nvcc's options: the user's words, and what is left of them for the compiler and for the linker.  A
# compiler that writes its arguments down stands in for clang.
cat >"$tmp/compiler" <<'EOF'
#!/bin/sh
for word; do [ "${last:-}" = -o ] && : >"$word"; last=$word; done
echo "$@"
EOF
chmod +x "$tmp/compiler"
echo >"$tmp/empty.cu"
while IFS='|' read -r words compiler linker; do
    # shellcheck disable=SC2086
    tool --compiler "$tmp/compiler" -o "$tmp/nothing" "$tmp/empty.cu" -- $words >"$tmp/out" 2>&1
    found=$(sed -n "1s|.*/shpool/check||; 1s|-I$tmp/include -D__CUDACC__.*||p" "$tmp/out")
    found="$found|$(sed -n '$s|.*/0\.o||; $s|-rdynamic.*||p' "$tmp/out")"
    [ "$found" = " $compiler${compiler:+ }| $linker${linker:+ }" ] ||
        fail "options $words: '$compiler|$linker' expected, found '$found'"
done <<'EOF'
-arch=sm_80||
-arch sm_80 -DA|-D A|
-gencode=arch=compute_80,code=sm_80 -DA|-D A|
-gencode arch=compute_80,code=sm_80 -DA|-D A|
--generate-code arch=compute_80,code=sm_80 -DA|-D A|
--gpu-architecture=compute_90 -code sm_90 -DA|-D A|
-Xptxas=-v -DA|-D A|
-Xptxas -v --ptxas-options=-v -DA|-D A|
-maxrregcount 32 --maxrregcount=32 -DA|-D A|
-ccbin g++ -rdc=true -rdc true -dc -dlto -DA|-D A|
-O3 -g -G -lineinfo -pg --use_fast_math --expt-relaxed-constexpr -extended-lambda||
-Xcompiler -Wall,-O3,-DA,-fopenmp -Xcompiler=-DB --compiler-options -IC|-DA -DB -IC|
-std=c++11 --std=c++14 -std c++17||
--std=c++20|-std=c++20|
-std gnu++23|-std=c++2b|
-Idir -I dir --include-path=dir -isystem dir|-I dir -I dir -I dir -isystem dir|
-DA=1 --define-macro B=2 -U C -include x.h|-D A=1 -D B=2 -U C -include x.h|
-L dir -Ldir -lm -l m -Wl,-z,now -Xlinker -s||-L dir -L dir -l m -l m -Wl,-z,now -Xlinker -s
-lcudart -lcuda --cudart static x.o||x.o
-Wno-deprecated-gpu-targets -Werror all-warnings -w -diag-suppress 177 -t 4 -x cu||
-fno-strict-aliasing -march=native|-fno-strict-aliasing -march=native|
EOF
tool "$tmp/empty.cu" -- -arch 2>"$tmp/err" && fail "an option without its value"
grep -q 'arch needs a value' "$tmp/err" || fail "no reason: $(cat "$tmp/err")"

# What is not there.
refuses() { # SOURCE TEXT
    echo "$1" >"$tmp/not.cu"
    tool "$tmp/not.cu" 2>"$tmp/err"
    [ $? = 2 ] && grep -q "$2" "$tmp/err" || fail "not refused: $1: $(cat "$tmp/err")"
}
refuses '__global__ void k(int *p) { asm volatile("mov.u32 %0, %%laneid;" : "=r"(*p)); }' \
    'inline PTX.*not.cu:1'
refuses '#include <mma.h>' mma.h
groups='#include <cooperative_groups.h>
using namespace cooperative_groups; __global__ void k() {'
refuses "$groups this_grid().sync(); }" 'grid.sync() is not there'
refuses "$groups this_cluster(); }" 'this_cluster() is not there'
refuses "$groups tiled_partition<64>(this_thread_block()); }" 'tiles of more than 32 threads'
refuses '__global__ void k(cudaTextureObject_t t) { tex1Dfetch<float>(t, 0); }' cudaTextureObject_t
refuses 'int main() { cublasHandle_t h; }' cublasHandle_t
echo '__global__ void k() { __shared__ char a[30000], b[30000]; a[0] = b[0] = 1; } int main() {}' \
    >"$tmp/large.cu"
tool "$tmp/large.cu" 2>"$tmp/err" && fail "60,000 bytes of static shared memory"
grep -q 'launch: k() has 60000 bytes' "$tmp/err" || fail "no such bytes: $(cat "$tmp/err")"

# The library's own examples: groups of lanes, scratch memory, and a warp-specialised kernel.
for example in 'groups' 'scratch' 'stages 100'; do
    # shellcheck disable=SC2086 # words
    set -- $example
    tool "$srcdir/examples/$1.cu" -- -- ${2-} >"$tmp/out" 2>"$tmp/err" &&
        grep -q '^shpool-check: [1-9][0-9]* launch.*, nothing found' "$tmp/err" ||
        fail "examples/$1.cu: $(cat "$tmp/out" "$tmp/err")"
done

# README's first program for a GPU.
awk '/^```cuda/ { p = 1; next } /^```/ { p = 0 } p' "$srcdir/README.md" >"$tmp/readme.cu"
if tool -o "$tmp/readme" "$tmp/readme.cu"; then
    for allocator in $allocators bitmap:check=1 bitmap:stats=1 "bitmap:trace=$tmp/run.trace"; do
        lines=0 # of the report that check=1 and stats=1 write, before the one of the check
        case $allocator in *check=1 | *stats=1) lines=1 ;; esac
        SHPOOL_ALLOCATOR=$allocator "$tmp/readme" >"$tmp/out" 2>&1 &&
            [ "$(grep -c . "$tmp/out")" = $((lines + 1)) ] &&
            [ "$(grep -c ' 33792 mallocs, 0 failed, 0 never freed, ' "$tmp/out")" = $lines ] ||
            fail "README with $allocator: $(cat "$tmp/out")"
    done
    [ -s "$tmp/run.trace" ] || fail "no trace"
else
    fail "README's program is not built"
fi

# A header of kernels may come before shpool/shpool.cuh; a program without the headers is refused.
for header in heap.h stage.cuh; do
    { echo "#include <shpool/$header>"; cat "$tmp/readme.cu"; } >"$tmp/first.cu"
    tool "$tmp/first.cu" >"$tmp/out" 2>&1 || fail "$header first: $(cat "$tmp/out")"
done
tool --root "$tmp/none" "$tmp/readme.cu" 2>"$tmp/err"
[ $? = 2 ] && grep -q "no $tmp/none/include/shpool/shpool.cuh: --root" "$tmp/err" ||
    fail "without headers: $(cat "$tmp/err")"
[ $failed = 0 ] && echo "PASS shpool-check"
exit $failed
