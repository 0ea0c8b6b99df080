# SPDX-License-Identifier: BSD-3-Clause
# The prototypes of public headers, one on a line without default visibility and inline words:
#
#     awk -f tests/build/prototypes.awk HEADER...
#
# Public are functions with SHPOOL_API or SIMT_API, and inline functions outside namespace impl
# after a comment that begins /**.

function words_gone(text) {
    gsub(/SHPOOL_API|SIMT_API|SIMT_FN_NOINLINE|SIMT_FN|SIMT_HD|SHPOOL_LAYOUT_FN/, " ", text)
    gsub(/static|inline|__host__|__device__|__forceinline__/, " ", text)
    gsub(/__launch_bounds__\([^)]*\)/, " ", text)
    gsub(/SHPOOL_PRINTF\([^)]*\)/, " ", text)
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    sub(/ $/, "", text)
    return text
}

FNR == 1 { in_comment = documented = inside = namespace = 0 }

/^namespace impl/ { namespace = 1 }
/^} *\/\* (namespace )?impl|^} *\/\/ (namespace )?impl/ { namespace = 0 }

{
    # removes comments, and records whether the last one was a documentation comment
    line = $0
    text = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            line = (at == 0) ? "" : substr(line, at + 2)
            in_comment = (at == 0)
        } else {
            at = index(line, "/*")
            text = text ((at == 0) ? line : substr(line, 1, at - 1))
            if (at != 0) {
                in_comment = 1
                if (!inside) documented = (substr(line, at, 3) == "/**")
                line = substr(line, at + 2)
            } else {
                line = ""
            }
        }
    }
    if (text ~ /^[ \t]*$/) next
}

!inside && text ~ /^#/ { documented = 0; continued = (text ~ /\\$/); next }
continued { continued = (text ~ /\\$/); next }

!inside {
    visible = (text ~ /^(SHPOOL_API|SIMT_API) /)
    # `extern "C" {` and anything that is not a function end here
    if (!visible && !(text ~ /^(SIMT_FN|SIMT_HD|SHPOOL_LAYOUT_FN|static inline|template) ?/)) {
        documented = 0
        next
    }
    inside = 1
    public = visible || (documented && !namespace)
    declaration = ""
}

inside {
    declaration = declaration " " text
    if (text ~ /[{;]/) {
        sub(/[{;].*/, "", declaration)
        if (public && (declaration ~ /\(/) && (declaration !~ /> (struct|using) /)) {
            print words_gone(declaration)
        }
        inside = documented = 0
    }
}
