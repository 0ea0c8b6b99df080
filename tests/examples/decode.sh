#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# examples/decode on the executor: other shapes, and weights from a safetensors file.  The file has
# the synthetic weights, so the program must print what it prints without a file.
#
#   top_srcdir     source folder [.]
#   top_builddir   build folder, with examples/decode/decode_cpu and tests/examples/tiles [.]
#   PYTHON         a Python 3 [python3]
#
# Prints one PASS or FAIL line for each step.  Exit: 0; 1; 77: no python3.
set -u
unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
decode=${top_builddir:-.}/examples/decode/decode_cpu
write=${top_srcdir:-.}/tests/examples/model.py
"${PYTHON:=python3}" -c 'import json, struct' 2>/dev/null || {
    echo "SKIP: no python3"
    exit 77
}
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

refuses() # PATTERN FAULT: the program must name what is wrong with the file
{
    "$PYTHON" "$write" "$scratch/bad" 1 64 2 1 32 64 50 "$2"
    "$decode" --layers 1 --hidden 64 --heads 2 --kv-heads 1 --head-dim 32 --ff 64 --vocab 50 \
        "$scratch/bad" >"$scratch/output" 2>&1
    [ $? -eq 1 ] && grep -q -e "$1" "$scratch/output"
    result $? "refuses a file: $1"
}

says() # PATTERN OPTIONS: the program ends with this message, a basic regular expression
{
    says=$1
    shift
    timeout 60 "$decode" "$@" >"$scratch/printed" 2>"$scratch/output"
    [ $? -eq 1 ] && grep -qx -e "$says" "$scratch/output"
    result $? "says: $says"
}

same() # LAYERS HIDDEN HEADS KV_HEADS HEAD_DIM FF VOCAB MORE OPTIONS
{
    shape="$*"
    "$PYTHON" "$write" "$scratch/model" "$1" "$2" "$3" "$4" "$5" "$6" "$7"
    options="--layers $1 --hidden $2 --heads $3 --kv-heads $4 --head-dim $5 --ff $6 --vocab $7"
    shift 7
    # shellcheck disable=SC2086 # a list of options
    "$decode" $options "$@" --show 1 >"$scratch/output" 2>&1
    result $? "made up: $shape"
    mv "$scratch/output" "$scratch/made_up"
    # shellcheck disable=SC2086
    "$decode" $options "$@" --show 1 "$scratch/model" >"$scratch/output" 2>&1
    result $? "from a file: $shape"
    cmp -s "$scratch/made_up" "$scratch/output"
    result $? "the same layers and tokens: $shape"
}

right() # WHAT OPTIONS: every layer is the host's
{
    what=$1
    shift
    timeout 300 "$decode" "$@" >"$scratch/output" 2>&1
    result $? "$what"
}

same 1 64 2 1 32 64 50 --context 5 --split 1 --graph 0
same 2 64 4 4 16 128 40 --context 0 --split 3 --tile 512 --pages 0 --graph 0
# a result says in which step it was written, by a bit that alternates: three steps
right "results of three steps" --layers 1 --heads 2 --kv-heads 1 --head-dim 32 --ff 64 --vocab 50 \
    --context 5 --split 1 --graph 0 --steps 3
right "rows of two and of four segments" --layers 1 --hidden 576 --heads 2 --kv-heads 1 \
    --head-dim 32 --ff 1088 --vocab 20 --context 3 --tile 2304 --pool 8192 --pages 0 --steps 1
right "a pace" --layers 1 --steps 1 --pace 880
# the newest token is all that attention sees, and a key or value of it lies between two of bf16
right "keys and values that the host would round differently" --layers 4 --hidden 128 --heads 1 \
    --kv-heads 1 --ff 64 --context 0 --split 1 --steps 1
timeout 60 "${top_builddir:-.}/tests/examples/tiles" >"$scratch/output" 2>&1
[ $? -eq 1 ] && grep -q '^tile: refused by an empty pool' "$scratch/output"
result $? "ends when an empty pool refuses a tile"
refuses 'up_proj.weight is missing' missing
refuses 'up_proj.weight is not bf16' float
refuses 'model.norm.weight is cut off after 64 of 128 bytes' short
refuses 'lm_head.weight is not supported' head
says '--heads: 3 is not a multiple of --kv-heads 2' --heads 3 --kv-heads 2
says '--head-dim: 48 is not a power of two' --head-dim 48
says "the largest of --hidden, --ff and --heads times --head-dim: 16384 is more than the readers' \
registers hold: [0-9]*" --ff 16384
says '--token: 200 is not below --vocab 200' --token 200
says "the pool: 2000 bytes have room for 1[0-9]*, and two of the largest tiles need 3072: more \
--pool, or less than --tile 1536" --pool 2000
says ".* need 2304: more --pool" --tile 128 --pool 2000
says '--pages: 1024 is less than the longest row: 1152' --pool 0 --pages 1024
says "$scratch/none: cannot be opened: No such file or directory" "$scratch/none"
printf 'short' >"$scratch/bad"
not="$scratch/bad: is not a safetensors file"
says "$not: its first 8 bytes cannot be read" "$scratch/bad"
printf '12345678' >"$scratch/bad"
says "$not: its header would have 4050765991979987505 bytes, at most 268435456 are read" \
    "$scratch/bad"
printf '\020\000\000\000\000\000\000\000{}' >"$scratch/bad"
says "$scratch/bad: ends after 2 of the 16 bytes of its header" "$scratch/bad"
"$PYTHON" "$write" "$scratch/bad" 1 64 2 1 32 64 50
says "$scratch/bad: model.layers.0.mlp.gate_proj.weight has 8192 bytes, and 16384 with the shape \
that the options give" \
    --layers 1 --heads 2 --kv-heads 1 --head-dim 32 --ff 128 --vocab 50 "$scratch/bad"
exit $failed
