# SPDX-License-Identifier: BSD-3-Clause
# NAME and SYNOPSIS of a manual page, from the prototypes of the headers:
#
#     awk -f tests/build/prototypes.awk HEADER... >PROTOTYPES
#     awk -v simt=HEADER -f man/synopsis.awk PROTOTYPES man/PAGE.3.in >man/PAGE.3
#
# A line .\"! NAME... of the page stands for the prototypes of these functions, in mdoc; C++ stands
# in literal displays.  Where a function is also a template, NAME is the function and NAME<> the
# template.  shpool:: before a name is for NAME only.  A line .\"simt stands for the functions that
# the first comment of the header `simt` lists, by paragraphs.  Exit: 1: a name has no prototype.

# the place after the brackets of template <...>
function brackets(text,    at, c, depth) {
    at = index(text, "<")
    do {
        c = substr(text, at++, 1)
        depth += (c == "<") - (c == ">")
    } while (depth > 0)
    return at
}

# TEXT in lines of 75 characters that end at commas, those after the first indented
function folded(text,    lines, at) {
    while (length(text) > 75) {
        for (at = 75; at > 5 && substr(text, at, 2) != ", "; at--) {}
        if (at == 5) break
        lines = lines substr(text, 1, at) "\n"
        text = "    " substr(text, at + 2)
    }
    return lines text
}

function literal(proto,    at, head) {
    if (proto ~ /^template/) {
        at = brackets(proto)
        head = folded(substr(proto, 1, at - 1)) "\n"
        proto = substr(proto, at + 1)
    }
    return ".Bd -literal\n" head folded(proto ";") "\n.Ed"
}

function mdoc(proto,    name, type, list) {
    if (proto ~ /^template|&|__global__/) return literal(proto)
    list = type = proto
    sub(/[^(]*\(/, "", list)
    sub(/\)$/, "", list)
    sub(/\(.*/, "", type)
    name = type
    sub(/.*[ *]/, "", name)
    type = substr(type, 1, length(type) - length(name))
    sub(/ $/, "", type)
    if (list != "void") {
        gsub(/, /, "\" \"", list)
        list = "\"" list "\""
    }
    return ".Ft " type "\n.Fn " name " " list
}

FNR == NR {
    all[++count] = name = $0
    if (name ~ /^template/) {
        name = substr(name, brackets(name))
        named[count] = "<>"
    }
    sub(/\(.*/, "", name)
    sub(/.*[ *&]/, "", name)
    if (named[count] == "") plain[name] = 1
    named[count] = name named[count]
    next
}

/^\.\\"! / {
    for (i = 2; i <= NF; i++) {
        name = $i
        sub(/^shpool::/, "", name)
        if (name !~ /<>$/) {
            if (!($i in listed)) names = names (names == "" ? "" : " ,\n") ".Nm " $i
            listed[$i] = 1
            if (!(name in plain)) name = name "<>"
        }
        found = 0
        for (p = 1; p <= count; p++) {
            if (named[p] == name) {
                text[++lines] = mdoc(all[p])
                found = 1
            }
        }
        if (!found) {
            print FILENAME ": no header has " $i >"/dev/stderr"
            failed = 1
        }
    }
    next
}

# the functions of a paragraph, its first words as the heading
function give_listed(    i, line, name) {
    for (i = 1; i <= listed_count; i++) {
        name = listed_name[i]
        sub(/\(\)$/, "", name)
        if (name in full) continue # mentioned without its arguments
        if (line == "") text[++lines] = ".Ss " heading "\n.Bd -literal -compact"
        if (length(line) + length(listed_name[i]) > 72) {
            text[++lines] = line
            line = ""
        }
        line = line (line == "" ? "" : "  ") listed_name[i]
    }
    if (line != "") text[++lines] = line "\n.Ed"
    listed_count = 0
}

# twice: at first the names that have arguments
function list_simt(pass,    line, name, old) {
    while ((getline line <simt) > 0 && line !~ /^#ifndef/) {
        if (pass == 2 && old == " *" && line ~ /^ \* [A-Za-z]/) {
            give_listed()
            heading = substr(line, 4)
            sub(/ *[.:,(].*| that .*/, "", heading)
        }
        old = line
        while (match(line, /simt_[a-z0-9_\/]*\([^)]*\)/)) {
            name = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (pass == 1 && name !~ /\(\)$/) full[substr(name, 1, index(name, "(") - 1)] = 1
            if (pass == 2 && name != "simt_run()" && !seen[name]++) {
                listed_name[++listed_count] = name
            }
        }
    }
    if (pass == 2) give_listed()
    close(simt)
}

/^\.\\"simt/ {
    list_simt(1)
    list_simt(2)
    next
}

{ text[++lines] = $0 }

END {
    for (i = 1; i <= lines; i++) {
        if (text[i] ~ /^\.Nd / && names != "") print names
        print text[i]
        if (text[i] ~ /\n\.Ed$/ && text[i + 1] ~ /^\.Ft /) print ".Pp" # as between two .Ft
    }
    exit failed
}
