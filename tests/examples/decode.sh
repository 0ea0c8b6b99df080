#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/decode on the executor: shapes whose layers must be those of decode.py (skipped without
# Python), and options that it must refuse.
#
#   top_builddir   build folder, with examples/decode/decode_cpu and tests/examples/tiles [.]
#   top_srcdir     source folder, with tests/examples/decode.py [.]
#   PYTHON         [python3]
#
# Prints one PASS, SKIP or FAIL line for each step.  Exit: 0; 1.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
decode=${top_builddir:-.}/examples/decode/decode_cpu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

result() # STATUS WHAT
{
    if [ "$1" -eq 0 ]; then
        echo "PASS $2"
    else
        echo "FAIL $2"
        cat "$scratch/output"
        failed=1
    fi
}

says() # PATTERN OPTIONS: the program ends with this message, a basic regular expression
{
    says=$1
    shift
    timeout 60 "$decode" "$@" >"$scratch/printed" 2>"$scratch/output"
    [ $? -eq 1 ] && grep -qx -e "$says" "$scratch/output"
    result $? "says: $says"
}

right() # WHAT OPTIONS: every layer is right
{
    what=$1
    shift
    if ! "${PYTHON:-python3}" -c '' 2>"$scratch/output"; then
        echo "SKIP $what: no Python"
        return
    fi
    timeout 300 "${PYTHON:-python3}" "${top_srcdir:-.}/tests/examples/decode.py" "$decode" "$@" \
        >"$scratch/output" 2>&1
    result $? "$what"
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
timeout 60 "${top_builddir:-.}/tests/examples/tiles" >"$scratch/output" 2>&1
[ $? -eq 1 ] && grep -q '^tile: refused by an empty pool' "$scratch/output"
result $? "ends when an empty pool refuses a tile"
says '--heads: 3 is not a multiple of --kv-heads 2' --heads 3 --kv-heads 2
says '--head-dim: 48 is not a power of two' --head-dim 48
says "the largest of --hidden, --ff and --heads times --head-dim: 16384 is more than the readers' \
registers hold: [0-9]*" --ff 16384
says "the pool: 2000 bytes have room for 1[0-9]*, and two of the largest tiles need 3072: more \
--pool, or less than --tile 1536" --pool 2000
says ".* need 2304: more --pool" --tile 128 --pool 2000
says '--pages: 1024 is less than the longest row: 1152' --pool 0 --pages 1024
exit $failed
