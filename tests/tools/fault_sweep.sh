# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Shared by faults.sh and faults_more.sh, which source it after checks.sh: a command is run again
# and again, and each of its allocations fails in turn.
#
#   CC top_srcdir top_builddir
#
# Exits with 77 if this is not the GNU C library.
# shellcheck disable=SC2154 # work and failed are those of checks.sh
build=$(cd "$top_builddir" && pwd)
src=$(cd "$top_srcdir" && pwd)
if ! $CC -O1 -shared -fPIC "$src/tests/tools/fail_malloc.c" -o "$work/fail.so" 2>"$work/log"; then
    echo "SKIP the C library has other names for malloc():"
    head -3 "$work/log"
    exit 77
fi
mkdir "$work/folder"
varying= # a script for sed: what differs from run to run, in outputs and files
fresh=:  # a function that is called before each attempt
before=0 # allocations before main(), which do not fail
tells=false # tells FILE: whether a file that a failed command leaves says what is missing

# attempt COMMAND...: with allocation $fail_at failing; its output is in $work/out and log
attempt() {
    $fresh
    (
        cd "$work/folder" && PATH=$build:$PATH FAIL_AT=$fail_at FAIL_COUNT=$work/count &&
            export PATH FAIL_AT FAIL_COUNT && { [ -z "$fail_on" ] || export FAIL_ON=1; } &&
            LD_PRELOAD=$work/fail.so exec "$@" >../out 2>../log
    )
}

# plain FILE: without what differs
plain() {
    if [ -z "$varying" ]; then
        cat "$1"
    else
        sed -e "$varying" "$1"
    fi
}

# as_always FILE: the output and the file, which goes
as_always() {
    plain "$work/out" | cmp -s - "$work/expected" &&
        { [ -z "$1" ] ||
            { plain "$work/folder/$1" | cmp -s - "$work/file" && rm "$work/folder/$1"; }; }
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
    plain "$work/out" >"$work/expected"
    [ -z "$file" ] || { plain "$work/folder/$file" >"$work/file" && rm "$work/folder/$file"; }
    count=$(cat "$work/count") fail_at=$before
    while [ "$fail_at" -lt "$count" ]; do
        fail_at=$((fail_at + 1))
        for fail_on in '' 1; do
            [ -z "$fail_on" ] || [ $((fail_at % 8)) = 1 ] || continue
            attempt "$@"
            status=$?
            if [ $status = 0 ]; then
                as_always "$file" && continue
            elif [ $status -lt 126 ]; then
                [ -s "$work/log" ] &&
                    { [ -z "$file" ] || is_empty ||
                        { $tells "$work/folder/$file" && rm "$work/folder/$file"; }; } && continue
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
