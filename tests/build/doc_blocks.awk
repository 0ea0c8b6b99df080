# SPDX-License-Identifier: BSD-3-Clause
# Blocks of code in documents are lines of files that are compiled:
#
#     awk -f tests/build/doc_blocks.awk COMPILED... DOCUMENT...
#
# Blocks are ```c, ```c++ and ```cuda of *.md, and literal displays of manual pages outside
# SYNOPSIS.  Comments and blanks do not count; a line with ... stands for any lines.  Prints a FAIL
# line for code that is compiled nowhere, and at the end the number of blocks.

function plain(line) {
    gsub(/\/\*[^*]*\*\//, "", line)
    sub(/\/\/.*/, "", line)
    gsub(/[ \t]+/, " ", line)
    sub(/^ /, "", line)
    sub(/ $/, "", line)
    return line
}

# the lines since `first` are together in one file
function close_piece(    file) {
    if (piece != "") {
        for (file in text) if (index(text[file] "\n", piece "\n")) break
        if (!index(text[file] "\n", piece "\n")) print "FAIL " FILENAME ":" first ":" piece
    }
    piece = ""
}

function add(line) {
    if (line ~ /\.\.\./ || line ~ /^#include/) {
        close_piece()
        return
    }
    if (page) gsub(/\\e/, "\\\\", line) # as mdoc spells a backslash
    line = plain(line)
    if (line == "") return
    if (piece == "") first = FNR
    piece = piece "\n" line
}

FNR == 1 { document = (FILENAME ~ /\.(md|[137])$/); page = (FILENAME ~ /\.[137]$/); block = 0 }

!document {
    line = plain($0)
    if (line != "") text[FILENAME] = text[FILENAME] "\n" line
    next
}

page && /^\.Sh/ { described = ($2 != "SYNOPSIS") }
!block && ((!page && /^ *```(c|c\+\+|cuda)$/) || (page && described && /^\.Bd -literal$/)) {
    block = 1
    count++
    next
}
block && (/^ *```$/ || /^\.Ed/) {
    close_piece()
    block = 0
    next
}
block { add($0) }

END { print count + 0 }
