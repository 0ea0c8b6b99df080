#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/sparse on the executor with its options and with files.  (make check also runs it without
# any.)
#
#   top_builddir   build folder, with examples/sparse/sparse_cpu and tests/examples/matrix, and
#                  examples/sparse/sparse if nvcc is there [.]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
sparse=${top_builddir:-.}/examples/sparse/sparse_cpu
show=${top_builddir:-.}/tests/examples/matrix
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

reads() # WHAT DENSE: the file is this matrix, and its product is right
{
    "$show" "$scratch/file" >"$output" 2>&1 && [ "$(tr '\n' '/' <"$output")" = "$2" ]
    result $? "reads $1"
    right "multiplies $1" "$scratch/file"
}

refuses() # MESSAGE: after the file's name
{
    "$show" "$scratch/file" >"$output" 2>&1
    [ $? -eq 1 ] && [ "$(cat "$output")" = "$scratch/file: $1" ]
    result $? "refuses: $1"
}

sorts() # WHAT OPTIONS: the rows of the four versions are the host's, and sorted
{
    what=$1
    shift
    timeout 100 "$sparse" "$@" --sort 1 >"$output" 2>&1 &&
        [ "$(grep -c '  0 wrong rows, sorted' "$output")" -eq 4 ]
    result $? "$what"
}

# A row of 1,100 columns takes several rounds of the sort; in global memory it is written by rank.
sorts "all versions sort their rows" --rows 120
awk 'BEGIN { n = 1100; print "%%MatrixMarket matrix coordinate real general"; print n, n, 2 * n - 1
    for (i = 1; i <= n; i++) print 1, i, i
    for (i = 2; i <= n; i++) print i, i, 2 }' >"$scratch/long"
sorts "they sort a long row" "$scratch/long" --most 16384 --rounds 1
sorts "they sort a long row in global memory" "$scratch/long" --most 1024 --rounds 1
sorts "they sort several rows of a block in global memory" --rows 60 --most 256

for matrix in 1 2 3; do
    right "--matrix $matrix" --rows 60 --matrix "$matrix"
done

real='matrix coordinate real'
size='3 3 2'
file "$real general" '% a comment' '' '3 3 4' '1 3 2.5' '2 1 -1' '2 2 1e1' '1 3 0.5'
reads "a general file" '0 0 3/-1 10 0/0 0 0/'
file 'MATRIX Coordinate Integer Symmetric' '3 3 3' '1 1 7' '2 1 5' '3 2 -4'
reads "a symmetric file" '7 5 0/5 0 -4/0 -4 0/'
file 'matrix coordinate pattern symmetric' "$size" '3 1' '2 2'
reads "a pattern" '0 0 1/0 1 0/1 0 0/'
file "$real skew-symmetric" "$size" '2 1 5' '3 2 -4'
reads "a skew-symmetric file" '0 -5 0/5 0 4/0 -4 0/'

file "$real general" "$size" '1 1 2' '2 2'
refuses 'line 4, "2 2", has no value that is a number'
file "$real general" "$size" '1 1 abc' '2 2 1'
refuses 'line 3, "1 1 abc", has no value that is a number'
file "$real general" '% a comment' "$size" '1 1 2' '2 2 1x'
refuses 'line 5, "2 2 1x", has no value that is a number'
file "$real general" "$size" '1 1.5 2' '2 2 1'
refuses 'line 3, "1 1.5 2", is not "row column value"'
file "$real general" "$size" '1 4 2' '2 2 1'
refuses 'line 3, "1 4 2", has a row or a column outside 1 to 3'
file "$real general" '2 2 -1'
refuses 'line 2, "2 2 -1", is not the size of a square matrix, "rows columns entries"'
file "$real general" "$size" "$(printf '1 1 \033[1m')"
refuses 'line 3, "1 1 ...", has no value that is a number'
file 'matrix coordinate pattern general' "$size" '1 1' '2 2 1'
refuses 'line 4, "2 2 1", has a value, but the matrix is a pattern'
file "$real general" "$size" '1 1 2'
refuses 'ends after 1 of 2 entries'
file "$real general" "$size" '1 1 2' '2 2 1' '3 3 1'
refuses 'line 5, "3 3 1", follows the last of 2 entries'
file "$real general" '3 4 2' '1 1 2' '2 2 1'
refuses 'line 2, "3 4 2", is not the size of a square matrix, "rows columns entries"'
kinds='has the kind "hermitian", not general, symmetric or skew-symmetric'
file "$real hermitian" "$size" '1 1 2' '2 2 1'
refuses "line 1, \"%%MatrixMarket $real hermitian\", $kinds"
values='has values "hermitian", not real, integer or pattern'
file 'matrix coordinate hermitian general' "$size" '1 1 2' '2 2 1'
refuses "line 1, \"%%MatrixMarket matrix coordinate hermitian general\", $values"
file 'matrix array real general' "$size" '1' '2'
refuses "line 1, \"%%MatrixMarket matrix array real general\", has \"matrix array\", \
not \"matrix coordinate\""
rm -f "$scratch/file"
refuses 'cannot be opened: No such file or directory'

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
