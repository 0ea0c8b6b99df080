#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# fuzz.sh [NAME...]: fuzzes each tests/ROOM/fuzz_NAME.c [all] with libFuzzer, AddressSanitizer and
# UBSan, from a copy of its corpus in tests/corpus/NAME; two at a time.  With more time: make fuzz
#
#   FUZZ_CC       compiler with -fsanitize=fuzzer; empty: the corpus is replayed only
#   fuzz_seconds  for each target [5]
#   fuzz_seed     1: the same inputs in each run, so that a failure is that of a change;
#                 0: new ones, as make fuzz takes [1]
#   top_srcdir, top_builddir, cmocka_cflags
#
# An input that fails stays in the build's tests/ as fuzz_NAME.crash-*: with the fix, add it to
# the corpus, under a name that describes the defect.  Exit: 0; 1; 77: nothing was fuzzed.
set -u
: "${FUZZ_CC:=}" "${fuzz_seconds:=5}" "${fuzz_seed:=1}" "${cmocka_cflags:=}"
: "${top_srcdir:=.}" "${top_builddir:=.}"
jobs=2
targets=${*:-device heap lint log options ptx spec trace}

case $fuzz_seconds in
*[!0-9]* | 0*)
    echo "SHPOOL_FUZZ_SECONDS is \"$fuzz_seconds\", it takes whole seconds, 1 and more"
    exit 1
    ;;
esac
tools="tools/input.c tools/json.c tools/message.c tools/options.c tools/output.c"
# What a target fuzzes beside the library; it is linked with the rest of the tools, too.
sources_of() { # NAME
    case $1 in
    lint) echo tools/coalesce/json.c tools/json.c ;;
    log) echo tools/bench/column.c tools/bench/memory/common.c tools/bench/memory/replay.c \
        tools/bench/places.c "$tools" ;;
    options) echo tools/bench/block/options.c \
        tools/bench/compare.c tools/bench/list.c tools/bench/loadstore/loadstore.c \
        tools/bench/memory/memory.c tools/bench/names.c \
        tools/bench/plot.c tools/bench/trace/map.c tools/bench/trace/replay.c \
        tools/message.c tools/options.c ;;
    trace) echo tools/bench/trace/file.c tools/bench/trace/life.c tools/bench/places.c "$tools" ;;
    esac
}
wraps_of() { # NAME
    [ "$1" != options ] || echo -Wl,--wrap=tool_parse -Wl,--wrap=bench_picture_check
}
program_of() { # NAME: tests/ROOM/fuzz_NAME, of the build
    echo "$top_builddir"/tests/*/"fuzz_$1"
}
if [ ! -f "$top_builddir/libshpool_tests.la" ]; then
    echo "skipped: no CMocka, whose headers the targets need; nothing was fuzzed or replayed"
    exit 77
fi
if [ -z "$FUZZ_CC" ]; then
    replayed=0
    for name in $targets; do
        [ -x "$(program_of "$name")" ] || continue
        "$(program_of "$name")" || { echo "FAIL $name: see the last file above"; exit 1; }
        replayed=$((replayed + 1))
    done
    echo "skipped: configure found no compiler with libFuzzer (FUZZ_CC=)"
    echo "$replayed programs of this build have replayed the corpus, nothing was fuzzed"
    exit 77
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$tmp/target" "$tmp/lib" || exit 1
src=$(cd "$top_srcdir" && pwd)
build=$(cd "$top_builddir" && pwd)

# a configuration of its own: all allocators of the tree, no device code
cat >"$tmp/config.h" <<'CONFIG'
#define _GNU_SOURCE 1
#define PACKAGE_VERSION "0"
#define SHPOOL_DEFAULT_ALLOCATOR "bitmap"
CONFIG
for file in "$src"/allocators/*/*.c; do
    echo "SHPOOL_ALLOCATOR($(basename "$file" .c))"
done >"$tmp/lib/builtin_allocators.def"

sanitize="-fsanitize=address,undefined -fno-sanitize-recover=all"
# in a few seconds optimised code does not make up for the time that it takes to compile
optimise=-O1
[ "$fuzz_seconds" -gt 4 ] || optimise=-O0
flags="-std=gnu11 -g1 $optimise -w -DHAVE_CONFIG_H -I$tmp -I$build/include -I$src/include -I$src
    -I$build $cmocka_cflags"
# simt/ is the machine: where it goes says nothing about the library
{
    for name in $targets; do
        file=$(echo "$src"/tests/*/fuzz_"$name".c)
        echo "-fsanitize=fuzzer-no-link -c $file -o $tmp/target/$name.o"
        for file in $(sources_of "$name"); do
            object=$(echo "$name/$file" | tr / _)
            echo "-fsanitize=fuzzer-no-link -c $src/$file -o $tmp/target/${object%.c}.o"
        done
    done
    for file in "$src"/device/*.c "$src"/device/*/*.c "$src"/device/*/*/*.c \
        "$src"/tests/device/fake/*.c; do
        object=$(echo "${file#"$src"/}" | tr / _)
        echo "-fsanitize=fuzzer-no-link -c $file -o $tmp/${object%.c}.o"
    done
    for file in "$src"/lib/*.c "$src"/lib/link/*.c "$src"/allocators/*/*.c \
        "$src"/tests/pools/heap_model.c; do
        echo "-fsanitize=fuzzer-no-link -c $file -o $tmp/$(basename "$file" .c).o"
    done
    for file in "$src"/coalesce/*.c "$src"/coalesce/plan/*.c "$src"/coalesce/ptx/*.c; do
        object=$(echo "${file#"$src"/}" | tr / _)
        echo "-fsanitize=fuzzer-no-link -c $file -o $tmp/${object%.c}.o"
    done
    for file in "$src"/simt/*.c; do
        echo "-c $file -o $tmp/simt_$(basename "$file" .c).o"
    done
} >"$tmp/compile"
# shellcheck disable=SC2086
if ! xargs -P $jobs -L 1 $FUZZ_CC $flags $sanitize <"$tmp/compile"; then
    echo "FAIL: the targets do not compile with $FUZZ_CC"
    exit 1
fi
# A spec is sometimes longer than legal; longer scripts are slow and do not find more.
max_len_of() {
    case $1 in spec) echo 600 ;; lint | ptx) echo 6000 ;; *) echo 1500 ;; esac
}

fuzz() { # NAME
    # shellcheck disable=SC2086
    $FUZZ_CC -fsanitize=fuzzer $sanitize $(wraps_of "$1") \
        $(find "$tmp/target" -name "$1.o" -o -name "$1_*.o") "$tmp"/*.o \
        "$build/tools/libtools.a" -o "$tmp/fuzz_$1" -lpthread -ldl -lm || return 1
    cp -R "$src/tests/corpus/$1" "$tmp/corpus_$1" && chmod -R u+w "$tmp/corpus_$1" || return 1
    if [ "$1" = ptx ]; then # a kernel in each, after the file's head
        awk -v to="$tmp/corpus_ptx/hand" '/^\.visible \.entry/ { file = to (++n); $0 = head $0 }
            n { print >file; next }
            { head = head $0 "\n" }' "$src/tests/coalesce/hand.ptx"
    fi
    seeds=$(ls "$tmp/corpus_$1" | wc -l)
    "$tmp/fuzz_$1" -max_total_time="$fuzz_seconds" -max_len="$(max_len_of "$1")" \
        -timeout=10 -seed="$fuzz_seed" -print_final_stats=1 \
        -artifact_prefix="$build/tests/fuzz_$1." "$tmp/corpus_$1" >"$tmp/log_$1" 2>&1 &
    running=$!
    if ! wait $running; then
        tail -n 60 "$tmp/log_$1"
        echo "FAIL $1"
        return 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$tmp/log_$1")
    if [ "${runs:-0}" -le "$seeds" ]; then
        tail -n 20 "$tmp/log_$1"
        echo "FAIL $1: ${runs:-0} inputs, the corpus alone has $seeds"
        return 1
    fi
    echo "PASS $1: $runs inputs in $fuzz_seconds s, from $seeds in the corpus"
}

worker() { # NUMBER: every JOBS-th target, from this one on
    running=
    trap '[ -z "$running" ] || kill "$running" 2>/dev/null; exit 1' TERM
    bad=0
    turn=0
    for name in $targets; do
        if [ $((turn % jobs)) = "$1" ]; then
            fuzz "$name" || bad=1
        fi
        turn=$((turn + 1))
    done
    exit $bad
}

workers=
# shellcheck disable=SC2086 # numbers
trap 'kill $workers 2>/dev/null; exit 1' HUP INT TERM
while [ "$(echo $workers | wc -w)" -lt $jobs ]; do
    worker "$(echo $workers | wc -w)" &
    workers="$workers $!"
done
failed=0
for pid in $workers; do
    wait "$pid" || failed=1
done
exit $failed
