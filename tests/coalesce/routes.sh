#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The commands of doc/COALESCE-CLANG.md, each block that is marked as a route, run in a copy of
# examples/rgb in the order of the page.  Their outputs must exist, and the pass must have reported
# that it rewrote the copy.  Without a GPU the executables exit 77, as expected.
#
#   top_srcdir, top_builddir, llvm_bindir, NVCC
#
# Exit: 0; 1; 77: built without LLVM, or no CUDA toolkit.
set -u
here=$(cd "$(dirname "$0")" && pwd)
src=$(cd "${top_srcdir:-$here/../..}" && pwd)
build=$(cd "${top_builddir:-.}" && pwd)
plugin=$build/coalesce/shpool-coalesce.so
nvcc=${NVCC:-}
[ -n "$nvcc" ] || nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
nvcc=${nvcc%% *}
: "${CUDA_HOME:=$(dirname "$(dirname "$(command -v "$nvcc" || echo /nowhere/bin/nvcc)")")}"
if [ -z "${llvm_bindir:-}" ] || [ ! -f "$plugin" ]; then
    echo "built without LLVM"
    exit 77
fi
if [ ! -x "$CUDA_HOME/bin/fatbinary" ] || ! command -v clang++-19 >/dev/null; then
    echo "no CUDA toolkit, or no clang++-19"
    exit 77
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
setup=$work/setup
SHPOOL_COALESCE_PLUGIN=$plugin
PATH=$build/tools:$PATH
SHPOOL_COALESCE=remarks
export CUDA_HOME SHPOOL_COALESCE SHPOOL_COALESCE_PLUGIN PATH
cp "$src"/examples/rgb/* "$work" && cd "$work" || exit 1
failed=0

block() { # NAME: the lines of the route's block
    awk -v name="$1" '
        $0 == "<!-- route: " name " -->" { found = 1; next }
        found && /^```sh$/ { inside = 1; next }
        inside && /^```$/ { exit }
        inside' "$src/doc/COALESCE-CLANG.md"
}

has_guard() { # FILE.ll: the code asks for the whole warp
    grep -q activemask "$1"
}

rewritten() { # ROUTE: the pass said so while it ran
    grep -q 'copy_members.*: copied record of 12 bytes rewritten' "$1.log"
}

# the outputs of each route, rewritten or not
made() {
    case $1 in
    setup) [ -x "$setup/cuda/bin/fatbinary" ] && [ -d "$setup/include" ] ;;
    executable) rewritten "$1" && runs rgb ;;
    bitcode) rewritten "$1" && runs rgb2 ;;
    ir) ! has_guard rgb.ll && has_guard rgb2.ll && [ -s rgb3.ll ] ;;
    cubin) rewritten "$1" && has_guard rgb4.ptx && [ -s rgb4.cubin ] ;;
    relocatable) rewritten "$1" && runs rgb5 ;;
    lint) [ "$(grep -c ': warning: .*copy_members' lint.log)" = 2 ] ;;
    esac
}

runs() {
    ./"$1" >run.log 2>&1
    case $? in
    0 | 77) ;;
    *) cat run.log; return 1 ;;
    esac
}

routes=$(sed -n 's/^<!-- route: \(.*\) -->$/\1/p' "$src/doc/COALESCE-CLANG.md")
for route in $routes; do
    block "$route" >"$route.sh"
    if [ ! -s "$route.sh" ]; then
        echo "FAIL $route: no commands"
        failed=1
        continue
    fi
    set -e
    if (. "./$route.sh") >"$route.log" 2>&1 && made "$route"; then
        echo "PASS $route"
    else
        echo "FAIL $route"
        sed 's/^/    /' "$route.log"
        failed=1
    fi
    set +e
    [ "$route" != setup ] || . ./setup.sh
done
[ "$(echo $routes | wc -w)" = 7 ] || {
    echo "FAIL seven routes, not: $routes"
    failed=1
}
exit $failed
