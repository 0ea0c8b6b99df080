# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=sh
# Sourced by coalesce.sh, nvcc.sh and llvm.sh, after tests/build/checks.sh: findings and decisions
# as lint.txt, suite.txt, defects.txt and both.txt have them.
# shellcheck disable=SC2154 # tool, work and failed are the script's

plain() { sed 's/.\[[0-9;]*m//g'; } # without colours

# The remarks of lint -r, one for equal ones, with their number.
decisions() {
    sed -n 's/^[^ ]* remark/remark/p' | LC_ALL=C sort | uniq -c | sed 's/^ *//'
}

# The lines of stdin about kernels that the PTX has.
about() { # FILE.ptx...
    awk 'FILENAME != "-" { if (/\.entry/) { sub(/\(.*/, "", $3); has[$3 ":"] = 1 } next }
        $2 ~ /:$/ && $3 ~ /:$/ { shown = $3 in has } shown' "$@" -
}

# Options with which the decisions about the kernels of a set were written down.
how() { # suite, defects or both
    [ "$1" != defects ] || echo --force
}

# The lint says of a record what the rewriter does with it.
says_what_it_does() { # FILE.ptx
    for options in "" --force; do
        # shellcheck disable=SC2086
        said=$("$tool" lint $options "$1" | grep -c 'which rewrites this')
        # shellcheck disable=SC2086
        expect 0 "ptx: $said records rewritten" "$tool" rewrite -v $options "$1" -o /dev/null
    done
}

# spread: standard input is kept.txt, standard output the kernels that its head says
spread() {
    awk '/ NAME\(/ { part = "head" }
        part == "head" { if (/LINES/) part = "tail"; else head = head $0 "\n"; next }
        part == "tail" { tail = tail $0 "\n"; if (/^}/) part = ""; next }
        /^NAME / { text = head; gsub(/NAME/, $2, text); printf "%s", text; open = 1; next }
        open && /^$/ { printf "%s", tail; open = 0 }
        { print }
        END { if (open) printf "%s", tail }'
}
