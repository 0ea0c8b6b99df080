#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The larger examples on the executor, with options and files.  (make check also runs them without
# any.)
#
#   top_srcdir, top_builddir [.]; PYTHON [python3]: without it decode.py is skipped
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
: "${top_srcdir:=.}" "${top_builddir:=.}" "${PYTHON:=python3}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
examples=$top_builddir/examples
sparse=$examples/sparse/sparse_cpu
decode=$examples/decode/decode_cpu

# ---- sparse: the four versions are the host's ----

multiplies() { # OPTIONS
    timeout 100 "$sparse" "$@" >"$work/product" && [ "$(grep -c '  0 wrong rows' \
        "$work/product")" -eq 4 ]
}

file() # KIND LINES...: a Matrix Market file
{
    printf '%%%%MatrixMarket %s\n' "$1" >"$work/file"
    shift
    printf '%s\n' "$@" >>"$work/file"
}

reads() # ENTRIES SUM PRODUCTS LENGTH: of the file, of its square, and that one's entries
{
    multiplies "$work/file" &&
        grep -q "^A: 3 rows, $1 entries, whose sum is $2\$" "$work/product" &&
        grep -q "^$3 products; C has $4 entries\$" "$work/product"
}

refuses() # MESSAGE: after the file's name
{
    expect 1 "^$work/file: $1" "$sparse" "$work/file"
}

for matrix in 1 2 3; do
    check "--matrix $matrix" multiplies --rows 60 --matrix "$matrix"
done
check "several rows of a block in global memory" multiplies --rows 60 --most 256
awk 'BEGIN { n = 1100; print "%%MatrixMarket matrix coordinate real general"; print n, n, 2 * n - 1
    for (i = 1; i <= n; i++) print 1, i, i
    for (i = 2; i <= n; i++) print i, i, 2 }' >"$work/long"
check "a long row" multiplies "$work/long" --most 16384
check "a long row in global memory" multiplies "$work/long" --most 1024

real='matrix coordinate real'
file "$real general" '% a comment' '' '3 3 4' '1 3 2.5' '2 1 -1' '2 2 1e1' '1 3 0.5'
check "a general file, whose entries at one place are added up" reads 3 12 3 3
file 'MATRIX Coordinate Integer Symmetric' '3 3 3' '1 1 7' '2 1 5' '3 2 -4'
check "a symmetric file" reads 5 9 9 7
file 'matrix coordinate pattern symmetric' '3 3 2' '3 1' '2 2'
check "a pattern" reads 3 3 3 3
file "$real skew-symmetric" '3 3 2' '2 1 5' '3 2 -4'
check "a skew-symmetric file" reads 4 0 6 5

entry='of 2 is missing, or is not a row and a column of 1 to 3'
while IFS='|' read -r message kind lines; do
    # shellcheck disable=SC2086 # one argument each
    (IFS=,; set -- $lines; file "$kind" "$@")
    refuses "$message"
done <<END
entry 2 $entry, and a number|$real general|3 3 2,1 1 2,2 2
entry 1 $entry, and a number|$real general|3 3 2,1 1 abc,2 2 1
has more than 2 entries: 1|$real general|3 3 2,1 1.5 2,2 2 1
entry 1 $entry, and a number|$real general|3 3 2,1 4 2,2 2 1
entry 2 $entry|matrix coordinate pattern general|3 3 2,1 1
has more than 2 entries: 3|$real general|3 3 2,1 1 2,2 2 1,3 3 1
is not square, or has too many rows: "3 4 2"|$real general|3 4 2,1 1 2,2 2 1
cannot be read, or is not a Matrix Market file|$real hermitian|3 3 2,1 1 2,2 2 1
cannot be read, or is not a Matrix Market file|matrix coordinate complex general|3 3 2,1 1 2,2 2 1
cannot be read, or is not a Matrix Market file|matrix array real general|3 3 2,1 1 2,2 2 1
END
rm -f "$work/file"
refuses 'cannot be read, or is not a Matrix Market file'

# What an image contains is linked again when its kernels are joined with an allocator at run time.
# CUB's sort, which brings the device runtime, takes more than 10 seconds.  (libshpool, too, has the
# names of the device runtime's other variables.)
if [ ! -f "$examples/sparse/sparse" ]; then
    echo "skipped: no $examples/sparse/sparse, whose image would be looked at"
else
    check "the GPU's program contains neither the device runtime nor CUB's sort" \
        not grep -q -e cudartErrorCnpMapArr -e SegmentedSort "$examples/sparse/sparse"
fi

# ---- repeats: words that it must tell apart or take for equal ----

counts() # LINE COUNTS: of runs of 1, 2, ... words; the program compares them with the host's
{
    printf '%s\n' "$1" >"$work/text"
    "$examples/repeats/repeats_cpu" "$work/text" >"$work/counts" &&
        [ "$(grep -c ' 0 wrong counts, 0 without memory' "$work/counts")" -eq 4 ] &&
        grep -q "^repeated on average: $2" "$work/counts"
}

check "words whose hashes are equal count as one" counts 'yqwhwtyt iybmlcor foo bar baz' '1.0 0.0'
check "capitals count as small letters" counts 'Foo bar, foo BAR! foo9' '2.0 1.0 0.0'

# ---- decode: shapes whose layers must be those of decode.py, and options that it must refuse ----

right() # WHAT OPTIONS
{
    what=$1
    shift
    if "$PYTHON" -c '' 2>/dev/null; then
        check "$what" timeout 300 "$PYTHON" "$top_srcdir/tests/examples/decode.py" "$decode" "$@"
    else
        echo "SKIP $what: no $PYTHON"
    fi
}

small='--heads 2 --kv-heads 1 --head-dim 32 --ff 64 --vocab 50'
right "the example's shape"
right "no cached tokens, more parts than tokens" --layers 2 --heads 4 --kv-heads 4 --ff 128 \
    --vocab 40 --context 0 --split 3 --tile 512
# a result says in which step it was written, by a bit that alternates: three steps
# shellcheck disable=SC2086 # a list of options
right "results of three steps" --layers 1 $small --context 5 --split 1 --steps 3
right "rows of two and of four segments" --layers 1 --hidden 576 --heads 2 --kv-heads 1 \
    --head-dim 32 --ff 1088 --vocab 20 --context 3 --tile 2304 --pool 8192 --pages 0 --steps 1
right "a pace" --layers 1 --steps 1 --pace 880
# the newest token is all that attention sees, and a key or value of it lies between two of bf16
right "keys and values between two numbers of bf16" --layers 4 --hidden 128 --heads 1 \
    --kv-heads 1 --ff 64 --context 0 --split 1 --steps 1
expect 1 '^--heads: 3 is not a multiple of --kv-heads 2$' "$decode" --heads 3 --kv-heads 2
expect 1 '^--head-dim: 48 is not a power of two$' "$decode" --head-dim 48
expect 1 "^the largest of --hidden, --ff and --heads times --head-dim: 16384 is more than the \
readers' registers hold: [0-9]*\$" "$decode" --ff 16384
expect 1 "^the pool: 2000 bytes have room for 1[0-9]*, and two of the largest tiles need 3072: \
more --pool, or less than --tile 1536\$" "$decode" --pool 2000
expect 1 ' need 2304: more --pool$' "$decode" --tile 128 --pool 2000
expect 1 '^--pages: 1024 is less than the longest row: 1152$' "$decode" --pool 0 --pages 1024
exit $failed
