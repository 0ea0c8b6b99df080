#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# All kernels of the .cu files, of which lint.ptx and tests/corpus/ptx have a few for test_run and
# coalesce.sh: findings and decisions word by word, plain against rewritten in the machine, every
# output assembled, whole builds.
#
#   nvcc.sh         Exit: 0; 1; 77: no nvcc, or something was left out, which a SKIP line names
#   nvcc.sh store   writes the few anew, from nvcc 13.0
#
#   NVCC            nvcc [empty: skipped]
#   top_srcdir, top_builddir
#
# Prints one PASS or FAIL line for each expectation.
set -u
: "${NVCC:=}" "${top_srcdir:=.}" "${top_builddir:=.}"
if [ -z "$NVCC" ]; then
    echo "skipped: no nvcc, so test_run and coalesce.sh have but a few kernels, and no output is \
assembled"
    exit 77
fi
src=$(cd "$top_srcdir" && pwd)
build=$(cd "$top_builddir" && pwd)
tool=$build/shpool-coalesce
# shellcheck source=tests/build/checks.sh
. "$src/tests/build/checks.sh"
# shellcheck source=tests/coalesce/decisions.sh
. "$src/tests/coalesce/decisions.sh"
nvcc=${NVCC##* } # after ccache
PATH=$(dirname "$nvcc"):$PATH
cd "$work" || exit 1
cp "$src"/tests/coalesce/*.cu .
cp "$src/tools/bench/coalesce/kernels.cu" suite.cu
for name in suite defects both lint; do
    lines=
    [ $name != lint ] || lines=-lineinfo
    expect 0 '' "$nvcc" -ptx -O3 -std=c++17 -arch=sm_90 $lines $name.cu -o $name.ptx
done
sed -i "s#$work/##" lint.ptx # as #line has it
[ $failed = 0 ] || exit 1

# ---- the few, findings and decisions ----
# only FILE.ptx KERNEL...: these, without comments and empty lines
only() {
    of=$1
    shift
    awk -v wanted=" $* " '/^[ \t]*\/\// || /^$/ { next }
        /\.entry/ { name = $3; sub(/\(.*/, "", name); inside = 1 }
        !inside || index(wanted, " " name " ")
        /^}/ { inside = 0 }' "$of"
}
few() { # store, or nothing
    for file in "$src"/tests/corpus/ptx/*.ptx "$src/tests/coalesce/lint.ptx"; do
        kernels=$(sed -n 's/^\.visible \.entry \([a-z0-9_]*\)($/\1/p' "$file")
        from=lint.ptx
        [ "$file" = "$src/tests/coalesce/lint.ptx" ] ||
            from=$(grep -l "^\.visible \.entry $kernels(" suite.ptx defects.ptx both.ptx)
        [ -f "$from" ] || continue # it has another origin
        # shellcheck disable=SC2086
        only "$from" $kernels >few.ptx
        [ "${1-}" != store ] || cp few.ptx "$file"
        same "$(basename "$file") is nvcc's; if not: nvcc.sh store" few.ptx "$file"
    done
}
left_out=
release=$(sed -n 's/.* release \([0-9.]*\),.*/\1/p' suite.ptx)
if [ "$release" = 13.0 ]; then
    few "$@"
    "$tool" lint -r -c always lint.ptx | plain >lint
    same "findings about lint.cu, with excerpts" "$src/tests/coalesce/lint.txt" lint
    for name in suite defects both; do
        # shellcheck disable=SC2046
        "$tool" lint -r $(how $name) $name.ptx | decisions >$name
        same "decisions about $name.cu" "$src/tests/coalesce/$name.txt" $name
    done
else
    left_out="findings and decisions: they are those about PTX of nvcc 13.0, not of $release"
    echo "SKIP $left_out"
fi

# ---- rewritten ----
for name in suite defects both lint; do
    says_what_it_does $name.ptx
    for how in "" --force; do
        # shellcheck disable=SC2086
        "$tool" rewrite $how $name.ptx -o out.ptx && ptxas -arch=sm_90 out.ptx -o out.cubin
        result $? "ptxas takes $name.cu rewritten $how"
    done
done
spread <"$src/tests/coalesce/kept.txt" >kept.ptx
for file in "$src/tests/coalesce/hand.ptx" kept.ptx; do
    expect 0 '' ptxas -arch=sm_90 "$file" -o out.cubin
done
if [ -x "$build/tests/coalesce/test_run" ]; then
    top_srcdir=$src "$build/tests/coalesce/test_run" 'test_run*' \
        "$work/suite.ptx" "$work/defects.ptx" "$work/both.ptx" >run 2>&1
    result $? "in the machine: $(grep -m 1 kernels run)" || tail -20 run
else
    left_out="the machine: no CMocka"
    echo "SKIP $left_out"
fi

# ---- whole builds ----
expect 0 '^lint.cu:56:9: warning' "$tool" lint lint.cu -- -O3 -arch=sm_80
expect 3 'nvcc ended with' "$tool" lint lint.cu -- --no-such-option
mkdir cu && cp lint.cu cu
expect 0 '^1 files linted, 0 refused' sh "$src/tools/coalesce/survey.sh" -t "$tool" cu -- \
    -O3 -arch=sm_80
expect 3 'nvcc is needed to lint a .cu file' env PATH=/nowhere "$tool" lint lint.cu
cat >app.cu <<'APP'
#include <cstdio>
__global__ void nine(int *__restrict__ d, const int *__restrict__ s)
{
    for (int k = 0; k < 9; k++) { d[9 * threadIdx.x + k] = s[9 * threadIdx.x + 8 - k]; }
}
int main() { nine<<<1, 1>>>(0, 0); puts(cudaGetErrorString(cudaGetLastError())); }
APP
expect 0 '2 records rewritten' "$tool" nvcc -v -- -O3 -std=c++17 -arch=sm_80 app.cu -o app
expect 0 '' test -x app
expect 0 '' "$tool" nvcc -O3 -arch=sm_80 -ptx app.cu -o app.ptx
expect 0 'shpc_' cat app.ptx
for name in nine _Z4ninePiPKi; do
    expect 0 ' 0 records rewritten' "$tool" nvcc -v --skip other --skip $name -- -O3 -arch=sm_80 \
        -ptx app.cu -o app.ptx
done
rm -f app.ptx
expect 0 '' "$tool" "$nvcc" -O3 -arch=sm_80 -ptx app.cu -o app.ptx
expect 0 'shpc_' cat app.ptx
expect 0 'rgb.ptx: 1 records rewritten' "$tool" nvcc -v -- -O3 -arch=sm_80 \
    "$src/examples/rgb/rgb.cu" "$src/examples/rgb/main.cpp" -o rgb
./rgb >rgb.log 2>&1
case $? in
0 | 77) result 0 "examples/rgb: $(tail -n 1 rgb.log)" ;;
*) result 1 "examples/rgb: $(cat rgb.log)" ;;
esac
expect 3 '/nowhere/nvcc of a toolkit .* was not found' "$tool" /nowhere/nvcc -ptx app.cu
expect 1 'error' "$tool" nvcc -ptx no_such.cu
expect 0 '' "$tool" nvcc -O3 -gencode arch=compute_80,code=sm_80 \
    -gencode arch=compute_90,code=sm_90 -rdc=true app.cu -o app
[ $failed = 0 ] || exit 1
[ -z "$left_out" ] || exit 77
