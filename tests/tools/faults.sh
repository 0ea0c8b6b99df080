#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory that runs out in the programs themselves: for every n, the nth allocation of a command
# fails, alone or with all later ones.  The command then prints what it always prints, or it says
# why not, has another exit status, and leaves no file.  (tests/tools/test_tool_faults.c has the
# commands of shpool-bench that read files, in one process.)
#
#   CC top_srcdir top_builddir
#
# Prints one PASS or FAIL line for each command.  Exit: 0; 1; 77: not the GNU C library.
# shellcheck disable=SC2154 # work and failed are those of checks.sh
set -u
: "${CC:=cc}" "${top_builddir:=.}" "${top_srcdir:=.}"
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
build=$(cd "$top_builddir" && pwd)
src=$(cd "$top_srcdir" && pwd)
if ! $CC -O1 -shared -fPIC "$src/tests/tools/fail_malloc.c" -o "$work/fail.so" 2>"$work/log"; then
    echo "SKIP the C library has other names for malloc():"
    head -3 "$work/log"
    exit 77
fi
mkdir "$work/folder"

# attempt COMMAND...: with allocation $fail_at failing; its output is in $work/out and log
attempt() {
    (
        cd "$work/folder" && PATH=$build:$PATH FAIL_AT=$fail_at FAIL_COUNT=$work/count &&
            export PATH FAIL_AT FAIL_COUNT && { [ -z "$fail_on" ] || export FAIL_ON=1; } &&
            LD_PRELOAD=$work/fail.so exec "$@" >../out 2>../log
    )
}

# as_always FILE: the output and the file, which goes
as_always() {
    cmp -s "$work/out" "$work/expected" &&
        { [ -z "$1" ] || { cmp -s "$work/folder/$1" "$work/file" && rm "$work/folder/$1"; }; }
}

is_empty() {
    [ "$(ls -A "$work/folder")" = '' ]
}

# sweep FILE COMMAND...: of which the output and FILE ["": none] are always the same
sweep() {
    file=$1
    shift
    fail_at=0 fail_on=
    attempt "$@" || {
        echo "FAIL $*: exit $?: $(head -1 "$work/log")"
        failed=1
        return
    }
    cp "$work/out" "$work/expected"
    [ -z "$file" ] || mv "$work/folder/$file" "$work/file"
    count=$(cat "$work/count")
    while [ "$fail_at" -lt "$count" ]; do
        fail_at=$((fail_at + 1))
        for fail_on in '' 1; do
            [ -z "$fail_on" ] || [ $((fail_at % 8)) = 1 ] || continue
            attempt "$@"
            status=$?
            if [ $status = 0 ]; then
                as_always "$file" && continue
            elif [ $status -lt 126 ]; then
                [ -s "$work/log" ] && { [ -z "$file" ] || is_empty; } && continue
            elif [ $status = 127 ] && ! grep -q '^shpool' "$work/log"; then
                continue # the dynamic linker ran out of memory
            fi
            echo "FAIL $*: allocation $fail_at of $count${fail_on:+ and all later ones}:" \
                "exit $status, $(ls "$work/folder") $(head -1 "$work/log")"
            failed=1
            rm -f "$work/folder/"*
            return
        done
    done
    check "$*: $count allocations, no file is left" is_empty
}

json=--json
"$build/shpool-info" --json archs >/dev/null 2>&1 || json=
for command in list archs device config 'show bitmap' 'overhead --threads 64 --bytes 4K'; do
    for option in '' $json; do
        # shellcheck disable=SC2086 # words
        sweep '' shpool-info $option $command
    done
done
input=$src/tests/coalesce/hand.ptx
sweep '' shpool-coalesce costs
sweep '' shpool-coalesce lint "$input"
sweep rewritten.ptx shpool-coalesce rewrite "$input" -o rewritten.ptx
exit $failed
