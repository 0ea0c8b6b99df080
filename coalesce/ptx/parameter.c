/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of parameters: which loads are of the kernel's own. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

void ptx_take_name(ptx_parser *parser, int of_body)
{
    const ptx_module *module = parser->module;
    const char       *text   = module->text + parser->token.begin;
    ptx_name         *slot;

    if ((parser->token.kind != PTX_WORD) || (text[0] == '.')) { /* a type, a state space */
        return;
    }
    slot = PTX_PUSH(parser->module, name);
    if (slot == NULL) {
        parser->no_memory = 1;
        ptx_fail(parser, "memory ran out");
        return;
    }
    *slot = (ptx_name){ .text = text, .bytes = (uint32_t)ptx_token_bytes(parser),
                        .of_body = of_body };
}

static int compare_text(const ptx_name *a, const ptx_name *b)
{
    const uint32_t bytes = (a->bytes < b->bytes) ? a->bytes : b->bytes;
    const int      order = memcmp(a->text, b->text, bytes);

    return (order != 0) ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare(const void *a, const void *b)
{
    const ptx_name *x     = a;
    const ptx_name *y     = b;
    const int       order = compare_text(x, y);

    return (order != 0) ? order : y->of_body - x->of_body;
}

void ptx_sort_names(ptx_module *module, ptx_function *function)
{
    function->names = module->name_count - function->name;
    if (function->names > 1) {
        qsort(&module->name[function->name], function->names, sizeof(*module->name), compare);
    }
}

int ptx_has_parameter(const ptx_module *module, const ptx_function *function, uint32_t begin,
                      uint32_t end)
{
    const ptx_name *name = module->name; /* NULL if there is none */
    const ptx_name  want = { .text = module->text + begin, .bytes = end - begin };
    uint32_t        low  = function->name;
    uint32_t        high = function->name + function->names;

    while (low < high) { /* the first one that is not less */
        const uint32_t middle = low + (high - low) / 2;

        if (compare_text(&name[middle], &want) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (low < function->name + function->names) && (compare_text(&name[low], &want) == 0) &&
           !name[low].of_body;
}
