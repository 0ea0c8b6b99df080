#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Memory that runs out in the programs themselves: for every n, the nth allocation of a command
# fails, alone or with all later ones.  The command then prints what it always prints, or it says
# why not, has another exit status, and leaves no file.  (tests/tools/test_tool_faults.c has the
# commands of shpool-bench that read files, in one process.)  Among them are commands that measure
# (figures differ from run to run), link (with a stand-in for nvJitLink, and a plugin), and run
# others (with a stand-in for nvcc).
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

for command in list archs device config 'show bitmap' 'overhead --threads 64 --bytes 4K'; do
    for option in '' --json; do
        # shellcheck disable=SC2086 # words
        sweep '' shpool-info $option $command
    done
done
input=$src/tests/coalesce/hand.ptx
sweep '' shpool-coalesce costs
sweep '' shpool-coalesce lint "$input"
sweep rewritten.ptx shpool-coalesce rewrite "$input" -o rewritten.ptx

# ---- whole runs of the benchmark ----
# The CUDA runtime allocates before main(), and does not look whether it got memory.
fail_at=1 fail_on=
attempt shpool-bench --version
if [ $? -gt 128 ]; then
    fail_at=0
    attempt shpool-bench --version
    before=$(cat "$work/count")
fi
run='shpool-bench --device cpu --allocator bitmap -i 2 --repeats 1 --threads 32'
varying='s/[0-9][-+0-9.e]*/N/g
s/  */ /g'
# shellcheck disable=SC2317 # called by sweep
tells_what() { # a row that could not be measured, or fewer than planned; or nothing is missing
    grep -q -e '[,"]failed[,"]' -e '"rows": \[\]' "$1" || plain "$1" | cmp -s - "$work/file"
}
tells=tells_what
# shellcheck disable=SC2086 # words
{
    sweep '' $run --workload pairs,objects
    sweep results.csv $run --workload pairs --csv=results.csv
    sweep results.json $run --workload pairs --json=results.json
}
tells=false before=0 varying=

# ---- shpool-info link ----
# shellcheck disable=SC2317 # $fresh
fresh_cache() { # what the attempt before left: nothing but whole entries
    for left in "$work/cache"/.[!.]*; do
        [ ! -e "$left" ] || { echo "FAIL allocation $fail_at: $left is left" && failed=1; }
    done
    rm -rf "$work/cache"
    mkdir -m 700 "$work/cache"
}
mkdir "$work/cache" "$work/plugins"
echo 'a kernel' >"$work/kernel"
echo "'c', 'o', 'd', 'e'" >"$work/own_fatbin.inc"
if $CC -O1 -shared -fPIC "$src/tests/tools/stand_in_linker.c" -o "$work/libnvJitLink.so.13" &&
    $CC -w -shared -fPIC -fvisibility=hidden -DOWN_CUDA=13000 -I"$work" -I"$src/include" \
        "$src/examples/plugin/own.c" -o "$work/plugins/own.so" && chmod 755 "$work/plugins"; then
    (
        LD_LIBRARY_PATH=$work:$LD_LIBRARY_PATH SHPOOL_PLUGIN_PATH=$work/plugins
        SHPOOL_CACHE_DIR=$work/cache FAIL_NAME=shpool-info fresh=fresh_cache
        export LD_LIBRARY_PATH SHPOOL_PLUGIN_PATH SHPOOL_CACHE_DIR FAIL_NAME
        varying='/ ms$/d' # nor which caches had it
        sweep cubin shpool-info link "$work/kernel" --arch sm_90 --allocator own -o cubin
        exit $failed
    ) || failed=1
else
    echo "FAIL a stand-in for nvJitLink and a plugin do not compile"
    failed=1
fi

# ---- shpool-coalesce nvcc, and lint of a .cu ----
mkdir -p "$work/toolkit/bin" "$work/toolkit/nvvm/bin" "$work/temporary"
cat >"$work/toolkit/bin/nvcc" <<'NVCC'
#!/bin/sh
for word; do
    [ "$last" != -o ] || output=$word
    last=$word
done
exec "${CICC_PATH:-$(dirname "$0")/../nvvm/bin}/cicc" in.cu -o "$output"
NVCC
cat >"$work/toolkit/nvvm/bin/cicc" <<'CICC'
#!/bin/sh
cp "$(dirname "$0")/../../in.ptx" "$3"
CICC
chmod +x "$work/toolkit/bin/nvcc" "$work/toolkit/nvvm/bin/cicc"
cp "$input" "$work/toolkit/in.ptx"
: >"$work/app.cu"
TMPDIR=$work/temporary PATH=$work/toolkit/bin:$PATH
export TMPDIR PATH FAIL_NAME

# sweep_nvcc NAME: allocations of the program NAME: the tool itself, or what nvcc calls as cicc.
# The PTX is the rewritten one, or nvcc's with a word on why, or there is none.
sweep_nvcc() {
    FAIL_NAME=$1 fail_at=0 fail_on=
    ptx=$work/folder/app.ptx
    attempt shpool-coalesce nvcc --force -- -ptx -o app.ptx
    mv "$ptx" "$work/file"
    count=$(cat "$work/count")
    while [ "$fail_at" -lt "$count" ]; do
        fail_at=$((fail_at + 1))
        attempt shpool-coalesce nvcc --force -- -ptx -o app.ptx
        status=$?
        if [ $status = 0 ] && cmp -s "$ptx" "$work/file"; then
            rm "$ptx"
        elif [ $status -le 3 ] && [ -s "$work/log" ] &&
            { [ ! -e "$ptx" ] || cmp -s "$ptx" "$work/toolkit/in.ptx"; }; then
            rm -f "$ptx"
        elif [ $status != 127 ]; then
            echo "FAIL shpool-coalesce nvcc: allocation $fail_at of $count of $FAIL_NAME:" \
                "exit $status, $(ls "$work/folder") $(head -1 "$work/log")"
            failed=1
            rm -f "$ptx"
            return
        fi
    done
    check "shpool-coalesce nvcc: $count allocations of $FAIL_NAME" is_empty
}
sweep_nvcc shpool-coalesce
sweep_nvcc cicc
FAIL_NAME=shpool-coalesce
sweep '' shpool-coalesce lint "$work/app.cu"
check "no temporary folder is left" test -z "$(ls -A "$work/temporary")"

# ---- files that cannot grow beyond some size ----

# sweep_writes FILE COMMAND...: for each limit below its size, in blocks of 512 bytes, the command
# fails and says why, and the old FILE stays
sweep_writes() {
    file=$1
    shift
    (cd "$work/folder" && PATH=$build:$PATH && "$@" >../out 2>../log)
    blocks=$(($(wc -c <"$work/folder/$file") / 512))
    limit=0
    while [ "$limit" -le "$blocks" ]; do
        echo old >"$work/folder/$file"
        # the limit's unit is 512 bytes in this shell's ulimit, or 1,024 in others
        {
            (cd "$work/folder" && PATH=$build:$PATH && trap '' XFSZ &&
                ulimit -f $((limit / unit)) && exec "$@" 2>&1 >/dev/null)
            echo $? >"$work/status"
        } | cat >"$work/log" # of which the size is not limited
        status=$(cat "$work/status")
        if [ "$status" = 0 ] || [ "$status" -gt 3 ] || ! [ -s "$work/log" ] ||
            [ "$(cat "$work/folder/$file")" != old ] ||
            [ "$(ls -A "$work/folder")" != "$file" ]; then
            break
        fi
        limit=$((limit + unit))
    done
    rm -f "$work/folder/"*
    check "$*: a write fails at each of $((blocks + 1)) blocks, stopped at $limit" \
        test "$limit" -gt "$blocks"
}
unit=1
(trap '' XFSZ && ulimit -f 1 && head -c 1024 /dev/zero >"$work/large") 2>/dev/null && unit=2
unset FAIL_NAME
sweep_writes out.ptx shpool-coalesce rewrite --force "$input" -o out.ptx
sweep_writes out.txt shpool-coalesce lint "$input" -o out.txt
sweep_writes out.sarif shpool-coalesce lint --sarif "$input" -o out.sarif
# shellcheck disable=SC2086 # words
{
    sweep_writes out.csv $run --workload pairs,mixed --csv=out.csv
    sweep_writes out.json $run --workload pairs,mixed --json=out.json
}
exit $failed
