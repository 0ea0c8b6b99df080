#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The larger examples on the executor, with options.  (make check also runs them without
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

# ---- sparse: both versions are right ----

multiplies() { # OPTIONS
    timeout 100 "$sparse" "$@" >"$work/product" &&
        [ "$(grep -c ' 0 wrong rows' "$work/product")" -eq 2 ]
}

check "rows of equal lengths" multiplies --rows 60 --matrix 1
check "empty rows" multiplies --rows 300 --matrix 2
check "arrays of one size" multiplies --rows 60 --least 8192 --most 8192
long_rows() { # those that are made by teams otherwise
    multiplies --most 4096 && grep -q '^pool .* [1-9][0-9]* rows in global memory' "$work/product"
}
check "long rows in global memory" long_rows
expect 1 '^FILE: is not expected; --help lists the options$' "$sparse" FILE

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
    printf '%b\n' "$1" >"$work/text"
    "$examples/repeats/repeats_cpu" "$work/text" >"$work/counts" &&
        [ "$(grep -c ' 0 wrong counts' "$work/counts")" -eq 2 ] &&
        grep -q "^repeated on average: $2" "$work/counts"
}

check "words whose hashes are equal count as one" counts 'yqwhwtyt iybmlcor foo bar baz' '1.0 0.0'
check "capitals count as small letters" counts 'Foo bar, foo BAR! foo9' '2.0 1.0 0.0'
check "two lines without words, one that repeats two" counts ' \n\nYes, yes; no. Yes, yes' '1.0 0.3'
long_documents() {
    "$examples/repeats/repeats_cpu" --most 4096 >"$work/counts" &&
        grep -q '; [1-9][0-9]* longer documents are left out$' "$work/counts"
}
check "long documents are left out" long_documents

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
# shellcheck disable=SC2086 # a list of options
right "launches of one step" --layers 1 $small --context 5 --split 1 --steps 3 --launch 1
right "launches of three steps, and one of one" --steps 7 --launch 3
right "rows of two and of four segments" --layers 1 --hidden 576 --heads 2 --kv-heads 1 \
    --head-dim 32 --ff 1088 --vocab 20 --context 3 --tile 2304 --pool 8192 --pages 0 --steps 1
right "narrower panels, so that small tiles have rows" --layers 2 --ff 192 --vocab 20 --panel 64 \
    --tile 256 --pages 256 --pool 4096 --steps 1
right "heads of 40, rows of two panels, five parts" --layers 2 --heads 3 --kv-heads 1 \
    --head-dim 40 --ff 2112 --vocab 20 --context 13 --split 5 --tile 4224 --pages 4224 --pool 16384
right "tiles with odd numbers of rows, of one, two and four segments" --layers 1 --hidden 256 \
    --heads 2 --kv-heads 1 --head-dim 40 --ff 1600 --panel 800 --vocab 60 --tile 4864 --pages 8064
right "tiles of three and five segments, which end within rows of two" --layers 1 --steps 1 \
    --heads 2 --kv-heads 1 --head-dim 32 --ff 1024 --vocab 20 --context 3 --tile 3072 --pages 5120
right "tiles of three segments and of one, of rows of four" --layers 1 --steps 1 --heads 2 \
    --kv-heads 1 --head-dim 32 --ff 2048 --vocab 20 --context 3 --tile 3072 --pages 1024
# the newest token is all that attention sees, and a key or value of it lies between two of bf16
right "keys and values between two numbers of bf16" --layers 4 --hidden 128 --heads 1 \
    --kv-heads 1 --ff 64 --context 0 --split 1 --steps 1
other_tiles() { # four of 1,536 bytes would be all of the pool
    "$decode" --pool 6144 --pages 0 --steps 1 >"$work/tiles" &&
        grep -q ', 3 tiles of 1920$' "$work/tiles"
}
check "tiles of another size where one would not fit" other_tiles
expect 1 '^--heads: 3 is not a multiple of --kv-heads 2$' "$decode" --heads 3 --kv-heads 2
expect 1 "^the pool: 2000 bytes have room for 1[0-9]*, and two of the largest tiles need 3072: \
more --pool, or less than --tile 1536\$" "$decode" --pool 2000
expect 1 ' need 2304: more --pool$' "$decode" --tile 128 --pool 2000
expect 1 '^--room: 32768 is more than half of the [0-9]* bytes that the pool has room for$' \
    "$decode" --room 32768
expect 1 '^--pages: 1024 is less than the longest row: 1152$' "$decode" --pool 0 --pages 1024
exit $failed
