#!/bin/sh
# Prints the percentage of each folder's lines that the tests run.  Called by `make coverage` in a
# build folder.  Builds and checks in a folder of its own, coverage.d, without CUDA, so that code
# for the GPU does not count.  Needs gcov and gcovr.
set -u
top=$(cd "${1:?usage: coverage.sh TOP_SRCDIR}" && pwd) || exit 1
command -v gcovr >/dev/null 2>&1 || {
    echo "make coverage: no gcovr on PATH (package gcovr)" >&2
    exit 1
}
mkdir -p coverage.d && cd coverage.d || exit 1
if [ ! -f Makefile ]; then
    # -O1: code that an unrolled or inlined loop repeats is one line
    "$top/configure" --without-cuda --disable-shared --disable-hardening \
        CFLAGS='-O1 -g --coverage -fprofile-update=atomic' \
        CXXFLAGS='-O0 -g --coverage -fprofile-update=atomic' >configure.log || exit 1
fi
make >make.log || exit 1
find . -name '*.gcda' -exec rm -f {} +
rm -f ./*conftest.gcno # configure's, whose sources are gone
# tests that compile other copies of the sources do not cover this one; programs that tests compile
# are linked with this one
make -k check CC="${CC:-gcc} --coverage" CXX="${CXX:-g++} --coverage" \
    TESTS="$(make -s print-coverage-tests)" >check.log 2>&1
grep -E '^# (TOTAL|PASS|FAIL|ERROR|SKIP)' check.log
# some versions take a line that is run four thousand million times for an error
gcovr -r "$top" --object-directory . -e "$top/tests/" -e "$top/examples/" \
    --gcov-ignore-parse-errors --csv >lines.csv 2>gcovr.log || {
    tail -5 gcovr.log >&2
    exit 1
}
# headers of allocators are seen by two paths: the build's is left out
awk -F, '(NR > 1) && ($1 !~ "/coverage.d/include/") {
        folder = $1
        sub("/[^/]*$", "", folder)
        sub("^allocators/.*", "allocators", folder)
        lines[folder] += $2
        run[folder] += $3
    }
    END {
        for (folder in lines) {
            part = 100 * run[folder] / lines[folder]
            printf "%-28s %6d lines %6.1f %%\n", folder, lines[folder], part
        }
    }' lines.csv | sort
