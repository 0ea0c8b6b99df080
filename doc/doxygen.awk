# SPDX-License-Identifier: BSD-3-Clause
# Doxygen's view of a header.
#
# `@code NAME`, whose name is for tests/build/snippets.sh, becomes `@code{.cpp}`.  Doxygen hides what has
# no comment; members of structs and function types, whose name says all, shall not be hidden: they
# get an empty one, or the plain comment on their line.

/@code [a-z_0-9]+$/ { sub(/@code [a-z_0-9]+$/, "@code{.cpp}") }
/^typedef struct .*\{$|^struct .*\{$/ { members = 1 }
/^\}/ { members = 0 }

{
    line = $0
    if (!documented && members && line ~ /^    [a-z].*;$/) line = line " /**< &zwnj; */"
    if (members && line ~ /^    [a-z].*; +\/\* /) sub(/\/\* /, "/**< ", line)
    if (!documented && line ~ /^typedef .*\(\*shpool_[a-z_]*_fn\)/) line = "/** &zwnj; */ " line
    print line
    # a comment of its own belongs to what follows
    if ($0 ~ /^ *\/\*\*( |$)/) documented = 1
    else if ($0 !~ /^ *\*/) documented = 0
}
