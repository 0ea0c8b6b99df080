/* SPDX-License-Identifier: BSD-3-Clause */
/* Templates of operations, as both printers have them: see warp.h. */
#include "warp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void put_number(const coalesce_printer *printer, int64_t number)
{
    char text[24];
    int  bytes = snprintf(text, sizeof(text), "%" PRId64, number);

    printer->put(printer->user, text, (size_t)bytes);
}

static void put_operand(const coalesce_printer *printer, const coalesce_op *op, uint32_t value)
{
    if (value == COALESCE_NO_VALUE) {
        put_number(printer, op->immediate);
    } else {
        printer->put_value(printer->user, value);
    }
}

static void put_code(const coalesce_printer *printer, const coalesce_op *op, char code)
{
    const coalesce_type type = (op->a[0] == COALESCE_NO_VALUE)
                                   ? op->type : coalesce_maker(printer->warp, op->a[0])->type;

    switch (code) {
    case 'r': printer->put_value(printer->user, op->value); break;
    case 'a':
    case 'b':
    case 'c': put_operand(printer, op, op->a[code - 'a']); break;
    case 'i': put_number(printer, op->immediate); break;
    case 't': printer->put(printer->user, printer->type[type], strlen(printer->type[type])); break;
    case 'n': put_number(printer, (type == COALESCE_I32) ? 32 : 64); break;
    default:  printer->put(printer->user, &code, 1);
    }
}

void coalesce_op_print(const coalesce_printer *printer, const coalesce_op *op, const char *text)
{
    while (*text != '\0') {
        const size_t plain = strcspn(text, "$");

        printer->put(printer->user, text, plain);
        text += plain;
        if (*text == '$') {
            put_code(printer, op, text[1]);
            text += 2;
        }
    }
}
