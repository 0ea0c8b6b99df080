/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instructions of PTX only compute, also where they stand in inline assembly. */
#include "plan.h"

#include <string.h>

/* They define their first operand from the others, and nothing else. */
static const char *const computing[] = {
    "abs", "add", "and", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "copysign", "cos",
    "cvt", "cvta", "div", "dp2a", "dp4a", "ex2", "fma", "fns", "isspacep", "lg2", "lop3", "mad",
    "mad24", "max", "min", "mov", "mul", "mul24", "neg", "not", "or", "popc", "prmt", "rcp", "rem",
    "rsqrt", "sad", "selp", "set", "setp", "shf", "shl", "shr", "sin", "slct", "sqrt", "sub",
    "szext", "tanh", "testp", "vabsdiff", "vadd", "xor",
};

static int has(const char *text, size_t bytes, const char *word)
{
    const size_t length = strlen(word);

    for (size_t i = 0; i + length <= bytes; i++) {
        if (memcmp(text + i, word, length) == 0) {
            return 1;
        }
    }
    return 0;
}

uint32_t coalesce_weight(const char *name, size_t bytes)
{
    static const char *const slow[] = { "div", "rem", "sqrt", "rcp", "sin", "cos", "ex2", "lg2",
                                        "tanh" };

    for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
        if (has(name, bytes, slow[i])) {
            return 8;
        }
    }
    return 1;
}

int coalesce_computes(const char *text, size_t bytes)
{
    size_t root = 0;

    while ((root < bytes) && (((text[root] >= 'a') && (text[root] <= 'z')) ||
                              ((text[root] >= '0') && (text[root] <= '9')))) {
        root++;
    }
    for (size_t i = 0; i < sizeof(computing) / sizeof(computing[0]); i++) {
        if ((strlen(computing[i]) == root) && (memcmp(computing[i], text, root) == 0)) {
            /* the carry must reach the next instruction, and what is timed must not move */
            return (root < bytes) && (text[root] == '.') && !has(text, bytes, ".cc") &&
                   !has(text, bytes, "%clock") && !has(text, bytes, "%globaltimer");
        }
    }
    return 0;
}

int coalesce_assembly_computes(const char *text, size_t bytes)
{
    size_t at = 0;

    for (;;) { /* an instruction or declaration: it begins at `at`, and its ';' is at `end` */
        size_t end;

        while ((at < bytes) && (strchr(" \t\n\r{};", text[at]) != NULL)) {
            at++;
        }
        for (end = at; (end < bytes) && (text[end] != ';'); end++) {
        }
        if (at == bytes) {
            return 1;
        }
        if ((end == bytes) ||
            (!coalesce_computes(text + at, end - at) &&
             ((end - at < 5) || (memcmp(text + at, ".reg", 4) != 0)))) {
            return 0; /* or it begins with a predicate, a label or a comment */
        }
        at = end;
    }
}
