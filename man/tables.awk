# SPDX-License-Identifier: BSD-3-Clause
# Makes a page of its .in: a line @TABLE@ becomes what shpool-info or shpool-bench print about it.
#
#   awk -v info=./shpool-info -v bench=./shpool-bench -f man/tables.awk man/shpool.7.in
#
# Exit: 0; 1: they printed nothing of a table.

# a sentence a line, at most 80 columns; mdoc marks functions in another way than with ()
function add(text, words, count, i, line) {
    gsub(/\(\)/, "", text)
    count = split(text, words, " ")
    line = words[1]
    for (i = 2; i <= count; i++) {
        if ((line ~ /\.$/) || (length(line) + length(words[i]) > 78)) {
            print line
            line = words[i]
        } else {
            line = line " " words[i]
        }
    }
    if (count > 0) { print line }
}
function upper(text) { return toupper(substr(text, 1, 1)) substr(text, 2) }
function rest(from, line) {
    line = $0
    for (; from > 1; from--) { sub(/^ *[^ ]+ */, "", line) }
    return line
}
function flush() {
    add(text)
    text = ""
}

# The keys in the output of a command: "    key=VALUES" and deeper lines of text.  1: it was one.
function key(line) {
    if ($0 ~ /^    [a-z][a-z_]*=/) {
        flush()
        line = substr($0, 5)
        sub(/=/, " Ns = Ns Ar ", line)
        print ".It Cm " line
        rows++
        return 1
    }
    if ($0 ~ /^        [^ ]/) {
        text = text (text == "" ? "" : " ") substr($0, 9)
        return 1
    }
    return 0
}

function keys() {
    while (((info " config") | getline) > 0) { key() }
    flush()
}

function environment(start) {
    while (((info " config") | getline) > 0) {
        if ($0 ~ /^SHPOOL_/) {
            print ".It Ev " $1
            rows++
        } else if ($0 ~ /^  default  /) {
            add(text ((NF > 1) ? " Default: " $2 "." : ""))
            text = ""
        } else if (($0 ~ /^  [^ ]/) && ($0 !~ /^  (value|invalid) /)) {
            text = text (text == "" ? "" : " ") substr($0, 3)
        }
    }
}

function device(inside) {
    while (((info " device") | getline) > 0) {
        if ($0 ~ /^[a-z]/) {
            flush()
            if (inside) { print ".El" }
            inside = 0
            print ".It Cm " $1 " No (" $2 ")"
            print upper(rest(3)) "."
        } else {
            if (!inside) { print ".Bl -tag -width Ds" }
            inside = 1
            key()
        }
    }
    flush()
    if (inside) { print ".El" }
}

function allocators(default_) {
    while (((info " list") | getline) > 0) {
        if ($0 !~ /^[* ] [a-z]/) { continue }
        default_ = ($0 ~ /^\*/)
        sub(/^../, "")
        print ".It Cm " $1
        print "Scope " $2 "."
        print upper(rest(3)) "."
        if (default_) { print "The default." }
        rows++
    }
}

# the lines after the one that begins with `heading`
function workloads(heading, inside) {
    while (((bench " --help") | getline) > 0) {
        if ($0 !~ /^  /) {
            inside = (index($0, heading) == 1)
        } else if (inside) {
            print ".It Cm " $1
            add(rest(2) ".")
            rows++
        }
    }
    close(bench " --help")
}

function table(name) {
    rows = 0
    text = ""
    if (name == "keys") { keys() }
    if (name == "environment") { environment() }
    if (name == "device") { device() }
    if (name == "allocators") { allocators() }
    if (name == "workloads") { workloads("Workloads:") }
    if (name == "scopes") { workloads("scopes of objects") }
    if (rows == 0) {
        print "man/tables.awk: nothing was printed of the table " name >"/dev/stderr"
        exit 1
    }
    close(info " config")
}

/^@[a-z]+@$/ {
    gsub(/@/, "")
    table($0)
    next
}
{ print }
