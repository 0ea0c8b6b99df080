# SPDX-License-Identifier: BSD-3-Clause
# The prototypes in SYNOPSIS sections of manual pages, without blanks, each after its page and name:
#
#     awk -f tests/build/synopsis.awk man/*.3
#     shpool_open.3 shpool_close shpool_statusshpool_close(shpool_pool*pool)
#
# mdoc's .Ft with .Fn or .Fo, .Fa, .Fc; C++ as it stands in literal displays, to the semicolon.

function give(text,    page, name) {
    page = FILENAME
    sub(/.*\//, "", page)
    name = text
    sub(/\(.*/, "", name)
    sub(/.*[^a-z_0-9]/, "", name)
    gsub(/[ \t]/, "", text)
    print page, name, text
}

# the arguments of a macro line from number `from` on, joined by commas; "a b" is one argument
function arguments(line, from,    text, word, count) {
    text = ""
    count = 0
    while (line != "") {
        sub(/^ +/, "", line)
        if (substr(line, 1, 1) == "\"") {
            word = substr(line, 2)
            sub(/".*/, "", word)
            line = substr(line, length(word) + 3)
        } else {
            word = line
            sub(/ .*/, "", word)
            line = substr(line, length(word) + 1)
        }
        count++
        if (word != "" && count >= from) text = text (count > from ? "," : "") word
    }
    return text
}

/^\.Sh/ { inside = ($2 == "SYNOPSIS"); literal = 0 }
!inside { next }
/^\.Bd/ { literal = 1; code = ""; next }
/^\.Ed/ { literal = 0; next }
literal {
    code = code " " $0
    if ($0 ~ /;$/) {
        sub(/;$/, "", code)
        give(code)
        code = ""
    }
    next
}
/^\.Ft / { type = substr($0, 5) }
/^\.Fn / { give(type " " $2 "(" arguments(substr($0, 5), 2) ")") }
/^\.Fo / { name = $2; list = "" }
/^\.Fa / { list = list (list == "" ? "" : ",") arguments(substr($0, 5), 1) }
/^\.Fc/  { give(type " " name "(" list ")") }
