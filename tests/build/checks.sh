# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# What scripts of checks share; sourced, in the build folder: a work folder that goes with the
# script, where libnvJitLink may be (cuda_libdir), and check().  They end with: exit $failed
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
        head -5 "$work/out"
        failed=1
    fi
}
