#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Lints a folder of programs, such as a local copy of a benchmark suite.  Prints a table of its
# files, and a sample of the findings to be read by hand.  Downloads and changes nothing.
#
#   survey.sh [-t TOOL] [-o FINDINGS] [-n COUNT] FOLDER [-- NVCC-OPTION...]
#
#   -t TOOL       shpool-coalesce [the one on PATH]
#   -o FINDINGS   file for all findings, as lint prints them
#   -n COUNT      print that many findings, evenly spread over all of them, to be judged
#
# Looked at: .cu (needs nvcc; files that do not compile by themselves are counted as such), .ptx,
# and in builds --with-llvm .ll and .bc, also in folders below.  .cu files find headers beside them.
#
# Exit: 0; 1: no file could be linted; 2: wrong usage.
set -u
tool=shpool-coalesce findings='' count=0

usage() {
    echo "usage: survey.sh [-t TOOL] [-o FINDINGS] [-n COUNT] FOLDER [-- NVCC-OPTION...]" >&2
    exit 2
}

while getopts t:o:n: option; do
    case $option in
    t) tool=$OPTARG ;;
    o) findings=$OPTARG ;;
    n) count=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || usage
case $count in '' | *[!0-9]*) usage ;; esac
folder=$1
shift
[ "${1:-}" != -- ] || shift
[ -d "$folder" ] || {
    echo "survey.sh: $folder is not a folder" >&2
    exit 2
}
work=
trap 'rm -rf "$work"' EXIT
trap 'exit 129' HUP # not every shell's EXIT includes the end by a signal
trap 'exit 130' INT
trap 'exit 143' TERM
work=$(mktemp -d) || exit 1
: >"$work/all"

# of RULE: the number of its findings in the last file; repeated ones at one place count each
of() {
    awk -v rule="[$1]" 'index($0, rule) { times = 1
            if (match($0, /; [0-9]+ times at this place/)) {
                times = substr($0, RSTART + 2) + 0
            }
            sum += times }
        END { print sum + 0 }' "$work/one"
}

printf '%8s %8s %9s %8s  %s\n' strided pitch irregular banks file
find "$folder" -type f \( -name '*.cu' -o -name '*.ptx' -o -name '*.ll' -o -name '*.bc' \) |
    LC_ALL=C sort >"$work/files"
linted=0 refused=0
while IFS= read -r file; do
    case $file in
    *.cu) "$tool" lint -c never "$file" -- -I"$(dirname "$file")" "$@" ;;
    *) "$tool" lint -c never "$file" ;;
    esac >"$work/one" 2>"$work/error" </dev/null
    case $? in
    0)
        linted=$((linted + 1))
        cat "$work/one" >>"$work/all"
        printf '%8s %8s %9s %8s  %s\n' "$(of strided)" "$(of pitch)" "$(of irregular)" \
            "$(of bank-conflict)" "$file"
        ;;
    *)
        refused=$((refused + 1))
        why=$(grep error "$work/error" | head -n 1)
        printf '%8s %8s %9s %8s  %s: %s\n' - - - - "$file" "${why:-$(head -n 1 "$work/error")}"
        ;;
    esac
done <"$work/files"
printf '%s files linted, %s refused, %s findings\n' $linted $refused \
    "$(grep -c '\[[a-z-]*\]$' "$work/all")"
if [ -n "$findings" ]; then
    cp "$work/all" "$findings" || exit 1
fi
grep '\[[a-z-]*\]$' "$work/all" | awk -v want="$count" '{ line[NR] = $0 }
    END { for (i = 0; i < want && i < NR; i++) {
              print line[1 + int(i * NR / (want < NR ? want : NR))]
          } }'
[ $linted -gt 0 ]
