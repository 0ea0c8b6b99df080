# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Shared by scripts of checks, which source it in the build folder and end with: exit $failed
# A work folder that is removed at the end, the folder of libnvJitLink (cuda_libdir), and check().
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
