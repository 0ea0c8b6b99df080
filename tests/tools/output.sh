#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Output files are complete or unchanged: full disks, a closed standard output, links, FIFOs.
# In the build folder.  Exit: 0; 1; 77 without /dev/full.
# shellcheck disable=SC2012,SC2016,SC2086,SC2154,SC2317 # $run is words; ls of one file; from make
set -u
unset SHPOOL_ALLOCATOR SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH
# shellcheck source=tests/build/checks.sh
. "$top_srcdir/tests/build/checks.sh"
bench=./shpool-bench
run="$bench --device cpu --allocator null --workload pairs -i 1 --repeats 1"
if [ ! -w /dev/full ]; then
    echo "SKIP there is no /dev/full"
    exit 77
fi

# fails STATUS TEXT COMMAND: of a shell; it ends so (a pattern), in time, and says TEXT
fails() {
    timeout 300 sh -c "$3" >"$work/said" 2>&1
    got=$?
    # shellcheck disable=SC2254 # a pattern
    case $got in
    $1) check "$3: $2" grep -q -- "$2" "$work/said" ;;
    *) check "$3: status $got" false ;;
    esac
}

cat >"$work/a.ptx" <<'EOD'
.version 8.0
.target sm_90
.address_size 64
.visible .entry k() { ret; }
EOD
# a picture is its data here: what counts is how its file is written
mkdir "$work/bin"
printf '#!/bin/sh\ncat <&3 && echo "</svg>"\n' >"$work/bin/python3"
chmod +x "$work/bin/python3"
path=$PATH # which has a real one
PATH=$work/bin:$PATH
full='No space left on device'
closed='Bad file descriptor'
$bench --device cpu --allocator "bitmap:trace=$work/t,trace_blocks=1" --workload mixed -i 5 \
    >/dev/null
$run --json="$work/r.json" >/dev/null

# ---- the standard output ----
for command in "$run" "$run --csv" "$bench --help" "$bench --version" "./shpool-info list" \
    "$bench replay --device cpu --allocator bitmap $work/t" "./shpool-info --help" \
    "./shpool-coalesce costs" "./shpool-coalesce --help" "./shpool-coalesce lint -r $work/a.ptx"; do
    case $command in
    *info*) status=1 ;;
    *coalesce*) status=3 ;;
    *) status=2 ;;
    esac
    $command >"$work/said" 2>&1
    [ -s "$work/said" ] || continue
    fails $status "the standard output: $full" "$command >/dev/full"
    fails $status "the standard output: $closed" "$command >&-"
done
for command in list config archs "show bitmap" "overhead --threads 64 --bytes 1K"; do
    fails 1 "the standard output: $full" "./shpool-info --json $command >/dev/full"
    fails 1 "the standard output: $closed" "./shpool-info --json $command >&-"
done
fails 2 "the standard output: $full" "$run --json >/dev/full"
fails 2 "the standard output: $closed" "$run --json >&-"
fails 2 "the standard output: $full" "$bench compare $work/r.json $work/r.json >/dev/full"
# the number of a closed stream must not be that of the next file, which would get its text, too
fails 2 "$closed" "$run --csv=$work/closed.csv >&-"
check "a file has no other output" sh -c "! grep -q '^allocator' '$work/closed.csv'"

# ---- files: a device takes the name, as a full disk does ----
for name in svg csv json; do
    ln -s /dev/full "$work/full.$name"
done
fails 1 "full.svg: $full" "$bench map $work/t --svg $work/full.svg"
fails 1 "full.csv: $full" "$run --csv=$work/full.csv"
fails 1 "full.json: $full" "$run --json=$work/full.json"
fails 1 "full.svg: $full" "$bench plot $work/r.json -o $work/full.svg"
fails 3 "full.json: $full" "./shpool-coalesce rewrite $work/a.ptx -o $work/full.json"

# ---- names that a terminal would obey are shown ----
escape=$(printf '\033')
odd=$work/odd$escape[31m
shown() { # COMMAND: what it says holds no escape, but shows one
    sh -c "$1" >"$work/said" 2>&1
    check "$1: shows the name" grep -q 'x1b\[31m' "$work/said"
    check "$1: says no escape" sh -c "! grep -q '$escape' '$work/said'"
}
echo none >"$odd"
shown "$bench map '$odd' --svg $work/m.svg"
shown "$bench map $work/t --svg '$odd'"
shown "$bench replay --device cpu '$odd'"
shown "$run --csv='$odd/none'"
shown "$run --allocator 'bitmap:$odd'"
shown "SHPOOL_ALLOCATOR='$odd' ./shpool-info config"
shown "SHPOOL_PLUGIN_PATH='$odd' ./shpool-info list"
shown "./shpool-info link '$odd/none' --arch sm_90"
shown "./shpool-coalesce lint '$odd'"
shown "PATH=$path $bench compare '$odd' '$odd'"
shown "PATH=$path $bench plot '$odd' -o $work/a.svg"

# ---- a limit on files, as a full disk is: the old file stays, and nothing else is left ----
mkdir "$work/old"
limited() { # BLOCKS COMMAND; its messages are in a pipe, which has no limit
    fails 0 'File too large' \
        "{ ulimit -f $1; $2 || echo refused; } 2>&1 | cat"
    check "$2: fails" grep -qx refused "$work/said"
}
keeps() { # NAME COMMAND
    echo old >"$work/old/$1"
    limited 0 "$2"
    check "$1 is as it was" grep -qx old "$work/old/$1"
    check "$1 is alone" test "$(echo "$work"/old/*)" = "$work/old/$1"
    rm "$work/old/$1"
}
keeps map.svg "$bench map $work/t --svg $work/old/map.svg"
keeps a.csv "$run --csv=$work/old/a.csv"
keeps b.ptx "./shpool-coalesce rewrite $work/a.ptx -o $work/old/b.ptx"
keeps lint.json "./shpool-coalesce lint -j $work/a.ptx -o $work/old/lint.json"
keeps a.json "$run --json=$work/old/a.json"
keeps a.svg "$bench plot $work/r.json -o $work/old/a.svg"

# a folder takes the name while the picture is drawn: it cannot be replaced
mkdir "$work/turns" "$work/turned"
printf '#!/bin/sh\nmkdir %s && cat <&3\n' "$work/turned/m.svg" >"$work/turns/python3"
chmod +x "$work/turns/python3"
fails 1 'm.svg: Is a directory' "PATH=$work/turns:$path $bench map $work/t --svg $work/turned/m.svg"
check "nothing else is left" test "$(ls -A "$work/turned")" = m.svg

# ---- links and rights ----
echo precious >"$work/precious"
mkdir "$work/links"
ln -s "$work/precious" "$work/links/out.csv.part"
ln -s "$work/real.csv" "$work/links/out.csv"
echo old >"$work/real.csv"
chmod 600 "$work/real.csv"
check "a file by a link" $run --csv="$work/links/out.csv"
check "the link is one still" test -L "$work/links/out.csv"
check "its file is the new one" grep -q '^null' "$work/real.csv"
check "with the rights of the old one" sh -c "ls -l '$work/real.csv' | grep -q '^-rw------- '"
check "no other link was followed" grep -qx precious "$work/precious"
(umask 027 && $run --csv="$work/new.csv" >/dev/null)
check "a new file has the usual rights" sh -c "ls -l '$work/new.csv' | grep -q '^-rw-r----- '"
if [ "$(id -u)" = 0 ]; then # only root can give a link away
    for target in "$work/precious" /dev/null "$work/nowhere"; do
        ln -s "$target" "$work/links/foreign.csv"
        chown -h 4711 "$work/links/foreign.csv"
        fails 1 'foreign.csv: Permission denied' "$run --csv=$work/links/foreign.csv"
        check "another user's link to $target stays" test -L "$work/links/foreign.csv"
        rm -f "$work/links/foreign.csv"
    done
    check "another user's link was not followed" grep -qx precious "$work/precious"
    check "nor was a file made by it" test ! -e "$work/nowhere"
else
    chmod 400 "$work/real.csv"
    fails 1 'real.csv: Permission denied' "$run --csv=$work/real.csv"
fi
$run --csv=/dev/stdout >"$work/both"
check "/dev/stdout is the standard output" sh -c "grep -q '^# allocator' '$work/both' ||
    grep -q '^spec,' '$work/both' && grep -q '^allocator ' '$work/both'"
check "a pipe" sh -c "$run --csv=/dev/stderr 2>&1 >/dev/null | grep -q '^spec,'"

# ---- FIFOs without a reader or writer do not hang ----
mkfifo "$work/fifo" "$work/fifo.svg" "$work/fifo.ptx"
for command in "$bench map $work/fifo --svg $work/m.svg" "$bench replay --device cpu $work/fifo"; do
    fails 1 'fifo: is a FIFO that no program writes to' "$command"
done
fails 3 'fifo.ptx: is a FIFO' "./shpool-coalesce lint $work/fifo.ptx"
fails 2 'fifo: is a FIFO that no program writes to' \
    "PATH=$path $bench compare $work/fifo $work/r.json"
fails 1 'fifo.svg: is a FIFO that no program reads' "$bench map $work/t --svg $work/fifo.svg"
fails 1 'fifo: is a FIFO that no program reads' "$run --csv=$work/fifo"
fails 3 'fifo: is a FIFO that no program reads' \
    "./shpool-coalesce rewrite $work/a.ptx -o $work/fifo"
# on a busy machine the other end may come late
fails 0 'fewest bytes' "for after in 0.2 1 5 25; do
        cat $work/t >$work/fifo & sleep \$after
        $bench replay --device cpu --allocator bitmap $work/fifo && exit
        kill \$!
    done; exit 1"
fails 0 '</svg>' "for after in 0.2 1 5 25; do
        cat $work/fifo.svg >$work/m.svg & sleep \$after
        $bench map $work/t --svg $work/fifo.svg && wait && exec tail -n 1 $work/m.svg
        kill \$!
    done; exit 1"
# ---- a signal while a file is written leaves nothing ----
yes 'm 0 - 8 0 16 0' | head -n 200000 >"$work/records"
sed -e 's/^\(block .* records \).*/\1200000 dropped 0/' -e '/^block /q' "$work/t" >"$work/long"
cat "$work/records" >>"$work/long"
echo 'end 1' >>"$work/long"
mkdir "$work/cut.d"
for after in 0.02 0.05 0.1; do
    $bench map "$work/long" --svg "$work/cut.d/m.svg" &
    sleep "$after"
    kill -HUP $! 2>/dev/null
    wait $! 2>/dev/null
    check "after $after s: all or nothing" sh -c "cd '$work/cut.d' && { [ ! -e m.svg ] ||
        tail -n 1 m.svg | grep -q '</svg>'; } && rm -f m.svg && [ \"\$(echo *)\" = '*' ]"
done
# ---- every signal that ends a program, while an output waits for the reader of a full pipe ----
mkfifo "$work/stalls.svg"
mkdir "$work/kept"
sleep 600 3<>"$work/stalls.svg" & # a reader that reads nothing
reader=$!
head -c 65536 /dev/zero >"$work/stalls.svg"
signalled() { # FILE SIGNALS COMMAND: the file [-: none] is as it was, and nothing is beside it
    for signal in $2; do
        [ "$1" = - ] || echo old >"$work/kept/$1"
        number=$(sh -c "trap '' EXIT; kill -$signal \$\$" 2>/dev/null; echo $?)
        [ "$number" != 0 ] || { echo "SKIP $signal: the caller ignores it" && continue; }
        # shellcheck disable=SC2086 # words
        timeout --preserve-status -k 10 -s "$signal" --foreground 0.2 $3 >"$work/said" 2>&1
        got=$?
        check "$signal: $3: status $got" test "$got" = "$number"
        check "$signal: $3: what is left" sh -c "cd '$work/kept' && { [ '$1' = - ] ||
            grep -qx old '$1'; } && ls -A | grep -vx -e '$1' | head -1 | { ! grep .; }"
        rm -f "$work/kept/"* "$work/kept/".[!.]*
    done
}
signalled - 'INT TERM HUP QUIT USR1' "$bench map $work/t --svg $work/stalls.svg"
signalled - 'INT TERM HUP QUIT USR1' "./shpool-coalesce rewrite $work/a.ptx -o $work/stalls.svg"
signalled - 'QUIT USR1' "$run --csv=$work/stalls.svg" # the others take 2 s, once below
signalled a.json \
    'INT TERM HUP QUIT PIPE ALRM USR1 USR2 XCPU VTALRM PROF PWR RTMIN SEGV ABRT' \
    "$run --csv=$work/stalls.svg --json=$work/kept/a.json"
kill "$reader"

# ---- a signal while shpool-coalesce waits for a compiler: that ends, too, and nothing is left ----
mkdir -p "$work/cuda/bin" "$work/cuda/nvvm/bin"
for tool in bin/nvcc bin/clang++ bin/fatbinary nvvm/bin/cicc; do
    printf '#!/bin/sh\necho $$ >"%s/pid"\nexec sleep 30\n' "$work" >"$work/cuda/$tool"
    chmod +x "$work/cuda/$tool"
done
mkdir "$work/tmp" "$work/src"
: >"$work/src/k.cu"
ends() { # SIGNAL STATUS COMMAND...: the signal goes to the command alone, or (a group) to all
    rm -f "$work/pid"
    signal=$1 status=$2 what="$3 $4"
    shift 2
    case $signal in
    *-group) set -- 60 "$@" ;;
    *) set -- --foreground 60 "$@" ;;
    esac
    (
        tries=0 # timeout passes the signal on
        until [ -s "$work/pid" ] || [ $((tries += 1)) -gt 2000 ]; do
            sleep 0.02
        done
        kill -s "${signal%-group}" "$(cat "$work/timeout")"
    ) &
    TMPDIR=$work/tmp PATH=$work/cuda/bin:$PATH CUDA_HOME=$work/cuda CLANGXX=$work/cuda/bin/clang++ \
        SHPOOL_COALESCE_PLUGIN=$work/a.ptx sh -c 'echo $$ >"$0" && exec timeout \
        --preserve-status "$@"' "$work/timeout" "$@" >"$work/said" 2>&1
    got=$?
    wait $!
    check "$signal: $what: status $got" test $got = "$status"
    check "$signal: $what: the compiler ran" test -s "$work/pid"
    check "$signal: $what: the compiler ended" sh -c "! kill -9 $(cat "$work/pid") 2>/dev/null"
    check "$signal: $what: no temporary file" test "$(echo "$work"/tmp/*)" = "$work/tmp/*"
    rm -rf "$work"/tmp/*
}
for signal in INT TERM HUP INT-group; do
    case $signal in
    INT*) status=130 ;;
    TERM) status=143 ;;
    HUP) status=129 ;;
    esac
    sh -c "kill -${signal%-group} \$\$"
    [ $? = $status ] || { echo "SKIP $signal: the caller ignores it" && continue; }
    ends $signal $status ./shpool-coalesce lint "$work/src/k.cu"
    ends $signal $status ./shpool-coalesce nvcc -c "$work/src/k.cu"
    # a shell waits for its command: the signal goes to all, as that of a terminal does
    ends "${signal%-group}-group" $status \
        "$top_srcdir/tools/coalesce/survey.sh" -t ./shpool-coalesce "$work/src"
    ends "${signal%-group}-group" $status sh "$top_srcdir/tools/coalesce/clang.in" -c k.cu
done
exit $failed
