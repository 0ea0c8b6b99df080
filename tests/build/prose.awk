# SPDX-License-Identifier: BSD-3-Clause
# Finds the habits of tests/build/prose.words in prose:  awk -f prose.awk prose.words FILE...
# Prints "FILE:LINE: "MATCH": write WHAT INSTEAD" for each.
#
#   -v names=1   print the habit's first line in place of that
#   -v text=1    print "FILE:LINE: TEXT" of all prose instead
#
# What is prose depends on the file: pages without code and tables' borders, manual pages without
# literal text, comments of headers, string literals of C files.  A habit may begin in one line and
# end in the next.

function ends_file() {
    search()
    last = 0
    literal = 0
    comment = 0
    blank = 1
}

# Line NUMBER of the file is prose.  JOINS: the next line may continue its sentence.
function say(number, line, joins) {
    if (text)
        print file ":" number ": " line
    gsub(/^ +| +$/, "", line)
    last++
    said[last] = line
    at[last] = number
    goes_on[last] = joins
}

# LINE with what PATTERN matches in it hidden; its length stays.
function without(line, pattern,    from, rest, hidden) {
    from = 1
    while (match(substr(line, from), pattern)) {
        hidden = substr(line, from + RSTART - 1, RLENGTH)
        gsub(/[^ ]/, "~", hidden)
        rest = substr(line, from + RSTART - 1 + RLENGTH)
        line = substr(line, 1, from + RSTART - 2) hidden rest
        from += RSTART - 1 + (RLENGTH > 0 ? RLENGTH : 1)
    }
    return line
}

function search(    i, before, line, lines) {
    if (text)
        return
    for (i = 1; i <= last; i++) {
        before = (i > 1 && joined(i - 1)) ? said[i - 1] " " : ""
        line = said[i] " "
        lines = " " before line (joined(i) ? said[i + 1] " " : "")
        search_habits(at[i], lines, tolower(lines), length(before), length(before line))
    }
}

function joined(i) {
    return goes_on[i] && i < last && at[i + 1] == at[i] + 1
}

# The habits in LINES, or in SMALL, the same in small letters, that begin after FROM and up to TO.
function search_habits(number, lines, small, from, to,    h, a, in_it, whole) {
    for (h = 1; h <= habits; h++) {
        in_it = cased[h] ? lines : small
        whole = "[^A-Za-z0-9_~](" pattern[h] ")[^A-Za-z0-9_~]"
        if (!match(in_it, whole))
            continue
        for (a = 1; a <= allowed[h]; a++)
            in_it = without(in_it, "[^A-Za-z0-9_~](" allow[h, a] ")")
        while (match(in_it, whole) && RSTART <= from)
            in_it = substr(in_it, 1, RSTART) "~" substr(in_it, RSTART + 2)
        if (match(in_it, whole) && RSTART <= to)
            print names ? name[h] : file ":" number ": \"" \
                substr(lines, RSTART + 1, RLENGTH - 2) "\": write " instead[h]
    }
}

FNR == 1 { ends_file(); file = FILENAME }

# ---- the list ----
FILENAME ~ /prose\.words$/ {
    key = $1
    value = $0
    sub(/^[A-Za-z]+ +/, "", value)
    if (key == "habit" || key == "Habit") {
        habits++
        pattern[habits] = value
        name[habits] = value
        cased[habits] = (key == "Habit")
    } else if (key == "also") {
        pattern[habits] = pattern[habits] "|" value
    } else if (key == "write") {
        instead[habits] = value
    } else if (key == "allow") {
        allow[habits, ++allowed[habits]] = value
    }
    next
}

# ---- comments of headers ----
file ~ /\.(h|hpp|cuh)$/ {
    found = ""
    line = $0
    if (!comment)
        gsub(/"([^"\\]|\\.)*"/, "", line)
    while (line != "") {
        if (comment) {
            from = index(line, "*/")
            found = found " " (from ? substr(line, 1, from - 1) : line)
            line = from ? substr(line, from + 2) : ""
            comment = !from
        } else if (match(line, /\/[*\/]/)) {
            if (substr(line, RSTART, 2) == "//") {
                found = found " " substr(line, RSTART + 2)
                line = ""
            } else {
                line = substr(line, RSTART + 2)
                comment = 1
            }
        } else {
            line = ""
        }
    }
    sub(/^[ *]+/, "", found)
    if (found != "")
        say(FNR, found, 1)
    next
}

# ---- texts of tools ----
file ~ /\.c$/ {
    found = ""
    while (match($0, /"([^"\\]|\\.)*"/)) {
        found = found " " substr($0, RSTART + 1, RLENGTH - 2)
        $0 = substr($0, RSTART + RLENGTH)
    }
    gsub(/\\n/, "", found)
    if (found != "")
        say(FNR, found, 1)
    next
}

# ---- manual pages ----
file ~ /\.[1-9](\.in)?$/ {
    if (/^\.Bd .*-literal/)
        literal = 1
    if (/^\.Ed/)
        literal = 0
    if (literal || /^\.(\\"|Dl|Dd|Dt|Os|Ed|Bd|Ft|Fn|Fa|In|Ss)/)
        next
    sub(/^\.[A-Z][a-z]+ */, "")
    say(FNR, $0, 1)
    next
}

# ---- pages, and NEWS ----
{
    if (/^```/) {
        literal = !literal
        next
    }
    code = literal || (file !~ /NEWS$/ && /^    / && (blank || code))
    blank = /^ *$/
    if (code)
        next
    $0 = without($0, "`[^`]*`")
    $0 = without($0, "]\\([^)]*\\)")
    say(FNR, $0, !blank && !/^\|/)
}

END { ends_file() }
