#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/sparse on the executor with its options and with files.  (make check also runs it without
# any.)
#
#   top_builddir   build folder, with examples/sparse/sparse_cpu, and examples/sparse/sparse if nvcc
#                  is there [.]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
sparse=${top_builddir:-.}/examples/sparse/sparse_cpu
scratch=$(mktemp -d)
output=$scratch/output
trap 'rm -rf "$scratch"' EXIT
failed=0

result() # STATUS WHAT
{
    if [ "$1" -eq 0 ]; then
        echo "PASS $2"
    else
        echo "FAIL $2"
        cat "$output"
        failed=1
    fi
}

right() # WHAT OPTIONS: the four versions are the host's
{
    what=$1
    shift
    timeout 100 "$sparse" "$@" >"$output" 2>&1 &&
        [ "$(grep -c '  0 wrong rows' "$output")" -eq 4 ]
    result $? "$what"
}

file() # KIND LINES...: a Matrix Market file
{
    printf '%%%%MatrixMarket %s\n' "$1" >"$scratch/file"
    shift
    printf '%s\n' "$@" >>"$scratch/file"
}

reads() # WHAT ENTRIES SUM PRODUCTS LENGTH: of the file, of its square, and that one's entries
{
    right "multiplies $1" "$scratch/file"
    grep -q "^A: 3 rows, $2 entries, whose sum is $3\$" "$output" &&
        grep -q "^$4 products; C has $5 entries\$" "$output"
    result $? "reads $1"
}

refuses() # MESSAGE: after the file's name
{
    "$sparse" "$scratch/file" >"$output" 2>&1
    [ $? -eq 1 ] && grep -q "^$scratch/file: $1" "$output"
    result $? "refuses: $1"
}

for matrix in 1 2 3; do
    right "--matrix $matrix" --rows 60 --matrix "$matrix"
done
right "several rows of a block in global memory" --rows 60 --most 256
awk 'BEGIN { n = 1100; print "%%MatrixMarket matrix coordinate real general"; print n, n, 2 * n - 1
    for (i = 1; i <= n; i++) print 1, i, i
    for (i = 2; i <= n; i++) print i, i, 2 }' >"$scratch/long"
right "a long row" "$scratch/long" --most 16384
right "a long row in global memory" "$scratch/long" --most 1024

real='matrix coordinate real'
file "$real general" '% a comment' '' '3 3 4' '1 3 2.5' '2 1 -1' '2 2 1e1' '1 3 0.5'
reads "a general file, whose entries at one place are added up" 3 12 3 3
file 'MATRIX Coordinate Integer Symmetric' '3 3 3' '1 1 7' '2 1 5' '3 2 -4'
reads "a symmetric file" 5 9 9 7
file 'matrix coordinate pattern symmetric' '3 3 2' '3 1' '2 2'
reads "a pattern" 3 3 3 3
file "$real skew-symmetric" '3 3 2' '2 1 5' '3 2 -4'
reads "a skew-symmetric file" 4 0 6 5

entry='is missing, or is not a row and a column of 1 to 3'
file "$real general" '3 3 2' '1 1 2' '2 2'
refuses "entry 2 of 2 $entry, and a number"
file "$real general" '3 3 2' '1 1 abc' '2 2 1'
refuses "entry 1 of 2 $entry, and a number"
file "$real general" '3 3 2' '1 1.5 2' '2 2 1'
refuses 'has more than 2 entries: 1'
file "$real general" '3 3 2' '1 4 2' '2 2 1'
refuses "entry 1 of 2 $entry, and a number"
file 'matrix coordinate pattern general' '3 3 2' '1 1'
refuses "entry 2 of 2 $entry"
file "$real general" '3 3 2' '1 1 2' '2 2 1' '3 3 1'
refuses 'has more than 2 entries: 3'
file "$real general" '3 4 2' '1 1 2' '2 2 1'
refuses 'is not square, or has too many rows: "3 4 2"'
for kind in "$real hermitian" 'matrix coordinate complex general' 'matrix array real general'; do
    file "$kind" '3 3 2' '1 1 2' '2 2 1'
    refuses 'cannot be read, or is not a Matrix Market file'
done
rm -f "$scratch/file"
refuses 'cannot be read, or is not a Matrix Market file'

# What an image contains is linked again when its kernels are joined with an allocator at run time.
# CUB's sort, which brings the device runtime, takes more than 10 seconds.  (libshpool, too, has the
# names of the device runtime's other variables.)
gpu=${top_builddir:-.}/examples/sparse/sparse
if [ ! -f "$gpu" ]; then
    echo "skipped: no $gpu, whose image would be looked at"
elif grep -q -e cudartErrorCnpMapArr -e SegmentedSort "$gpu"; then
    echo "FAIL the GPU's program contains the device runtime, or CUB's sort"
    exit 1
else
    echo "PASS the GPU's program contains neither the device runtime nor CUB's sort"
fi
exit $failed
