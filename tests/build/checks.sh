# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Shared by scripts of checks, which source it in the build folder and end with: exit $failed
# A work folder that is removed at the end, the folder of libnvJitLink (cuda_libdir), and functions
# of which each prints a PASS or FAIL line.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
LD_LIBRARY_PATH=${cuda_libdir:-.}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
failed=0

check() { # TEXT COMMAND...
    text=$1
    shift
    if "$@" >"$work/out" 2>&1; then
        echo "PASS $text"
    else
        echo "FAIL $text: $*"
        head -20 "$work/out"
        failed=1
    fi
}

not() { if "$@"; then return 1; else return 0; fi; }

# expect STATUS TEXT COMMAND...: its exit status, and a regular expression that its output matches
expect() {
    status=$1
    text=$2
    shift 2
    "$@" >"$work/out" 2>&1 </dev/null
    got=$?
    if [ $got = "$status" ] && { [ -z "$text" ] || grep -q -- "$text" "$work/out"; }; then
        echo "PASS $*" | sed "s#$work/##g"
    else
        echo "FAIL $*: status $got, not $status, or nothing like \"$text\" in:"
        head -5 "$work/out"
        failed=1
    fi
}

same() { # WHAT WANTED GOT: two files
    diff "$2" "$3" >"$work/out" 2>&1
    result $? "$1" && return
    head -10 "$work/out"
}

result() { # STATUS TEXT
    if [ "$1" = 0 ]; then
        echo "PASS $2"
    else
        echo "FAIL $2"
        failed=1
    fi
    return "$1"
}

# least VARIABLE COMMAND...: VARIABLE becomes the command's processor time in ms, if that is less
least() {
    variable=$1
    shift
    times >"$work/before"
    "$@" || return 1
    times >"$work/after"
    # the second line has the user and the system time of children, as 0m1.23s 0m0.45s, in some
    # shells in steps of 10 ms
    spent=$(awk 'FNR == 2 {
        split($0, part, /[ms ]+/)
        sum[++n] = 60 * (part[1] + part[3]) + part[2] + part[4]
    }
    END { printf "%d", 1000 * (sum[2] - sum[1]) + 10 }' "$work/before" "$work/after")
    eval "[ $spent -ge \$$variable ] || $variable=$spent"
}

# check_linear TEXT COMMAND...: the processor time grows as the input does.  COMMAND... few must
# work on an eighth of what COMMAND... many works on: linear work of many takes 8 times as long,
# quadratic work 64 times.  Up to 24 times pass; the least of up to 5 runs counts.
check_linear() {
    text=$1
    shift
    few_ms=999999999
    many_ms=999999999
    for run in 1 2 3 4 5; do
        if ! least few_ms "$@" few >"$work/out" 2>&1 || ! least many_ms "$@" many >"$work/out" 2>&1
        then
            echo "FAIL $text: $* fails: $(head -5 "$work/out")"
            failed=1
            return
        fi
        if [ "$many_ms" -le $((24 * few_ms)) ]; then
            echo "PASS $text"
            return
        fi
    done
    echo "FAIL $text: $few_ms ms, 8 times as much $many_ms ms ($run runs)"
    failed=1
}
