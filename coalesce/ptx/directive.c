/* SPDX-License-Identifier: BSD-3-Clause */
/* Directives: header, files, places, registers. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

/* ---- .file and .loc: they end with their line ---- */

void ptx_parse_file(ptx_parser *parser)
{
    const uint32_t line = parser->token.line;
    uint32_t       number;

    ptx_advance(parser);
    number = ptx_take_number(parser);
    if ((parser->token.kind == PTX_STRING) && (parser->token.line == line)) {
        ptx_file *file  = PTX_PUSH(parser->module, file);
        size_t    bytes = ptx_token_bytes(parser) - 2;
        char     *path  = malloc(bytes + 1);

        if ((file == NULL) || (path == NULL)) {
            free(path);
            parser->module->file_count -= (file != NULL);
            parser->no_memory = 1;
            ptx_fail(parser, "memory ran out");
            return;
        }
        memcpy(path, parser->module->text + parser->token.begin + 1, bytes);
        path[bytes] = '\0';
        *file = (ptx_file){ .number = number, .begin = parser->token.begin, .path = path };
    }
    while (!ptx_ended(parser) && (parser->token.line == line)) {
        ptx_advance(parser); /* time and size */
    }
}

static ptx_place parse_place(ptx_parser *parser)
{
    ptx_place place;

    place.file   = ptx_take_number(parser);
    place.line   = ptx_take_number(parser);
    place.column = ptx_take_number(parser);
    return place;
}

void ptx_parse_loc(ptx_parser *parser)
{
    const uint32_t line = parser->token.line;
    ptx_place      place;

    ptx_advance(parser);
    place              = parse_place(parser);
    parser->head       = (parser->head.line != 0) ? parser->head : place;
    parser->place      = (place.line != 0) ? place : parser->head; /* 0: code that was moved */
    parser->inlined_at = (ptx_place){ 0 };
    while (!ptx_ended(parser) && (parser->token.line == line)) {
        if (ptx_is_word(parser, "inlined_at")) {
            ptx_advance(parser);
            parser->inlined_at = parse_place(parser);
        } else {
            ptx_advance(parser);
        }
    }
}

/* ---- .maxntid and .reqntid ---- */

void ptx_parse_block(ptx_parser *parser, coalesce_block *block)
{
    const int is_required = ptx_is_word(parser, ".reqntid");
    uint32_t  extent[3]   = { 1, 1, 1 };
    uint32_t  d           = 0;

    do {
        ptx_advance(parser);
        if (parser->token.kind == PTX_NUMBER) {
            extent[d] = ptx_take_number(parser);
        }
    } while (ptx_is_punct(parser, ',') && (++d < 3));
    if ((extent[0] == 0) || (extent[0] > 1024) || (extent[1] == 0) || (extent[1] > 1024) ||
        (extent[2] == 0) || (extent[2] > 64)) {
        return;
    }
    /* a bound says nothing of the shape, but this one leaves no whole warp */
    if (is_required || (extent[0] * extent[1] * extent[2] < COALESCE_LANES)) {
        *block = (coalesce_block){ extent[0], extent[1], extent[2], 0 };
    }
    block->most = extent[0] * extent[1] * extent[2];
}

/* ---- declarations of registers ---- */

static uint32_t bits_of_type(const ptx_parser *parser)
{
    static const struct { const char *name; uint32_t bits; } types[] = {
        { ".pred", 1 }, { ".b8", 8 }, { ".u8", 8 }, { ".s8", 8 }, { ".b16", 16 }, { ".u16", 16 },
        { ".s16", 16 }, { ".f16", 16 }, { ".bf16", 16 }, { ".b32", 32 }, { ".u32", 32 },
        { ".s32", 32 }, { ".f32", 32 }, { ".f16x2", 32 }, { ".b64", 64 }, { ".u64", 64 },
        { ".s64", 64 }, { ".f64", 64 }, { ".b128", 128 },
    };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (ptx_is_word(parser, types[i].name)) {
            return types[i].bits;
        }
    }
    return 0;
}

/* .reg .b32 %r<10>, %a; vectors have bits 0 and are in no access that is rewritten. */
void ptx_parse_registers(ptx_parser *parser)
{
    uint32_t bits;

    ptx_advance(parser);
    bits = bits_of_type(parser);
    while ((parser->token.kind == PTX_WORD) &&
           (parser->module->text[parser->token.begin] == '.')) {
        ptx_advance(parser);
    }
    while (parser->token.kind == PTX_WORD) {
        const ptx_token name  = parser->token;
        uint32_t        count = 0;

        ptx_advance(parser);
        if (ptx_is_punct(parser, '<')) {
            ptx_advance(parser);
            count = ptx_take_number(parser);
            ptx_expect(parser, '>', "a '>' is missing");
        }
        ptx_declare(parser, &name, count, bits);
        if (!ptx_is_punct(parser, ',')) {
            break;
        }
        ptx_advance(parser);
    }
    ptx_expect(parser, ';', "a semicolon is missing after registers");
}

/* ---- .version and .target ---- */

void ptx_parse_header(ptx_parser *parser)
{
    ptx_module *module = parser->module;
    char        number[16] = "";
    double      tenths;

    if (!ptx_is_word(parser, ".version")) {
        ptx_fail(parser, "PTX begins with .version; this does not,");
        return;
    }
    ptx_advance(parser);
    if ((parser->token.kind == PTX_NUMBER) && (ptx_token_bytes(parser) < sizeof(number))) {
        memcpy(number, module->text + parser->token.begin, ptx_token_bytes(parser));
        tenths          = 10 * atof(number) + 0.5;
        module->version = (tenths < UINT32_MAX) ? (uint32_t)tenths : UINT32_MAX;
    }
    ptx_advance(parser);
}

void ptx_parse_target(ptx_parser *parser)
{
    const uint32_t line = parser->token.line;

    ptx_advance(parser);
    while (!ptx_ended(parser) && (parser->token.line == line)) {
        const char *name = parser->module->text + parser->token.begin;

        if ((parser->token.kind == PTX_WORD) && (ptx_token_bytes(parser) > 3) &&
            (memcmp(name, "sm_", 3) == 0)) {
            parser->module->target = 0;
            for (size_t i = 3; (i < ptx_token_bytes(parser)) && (i < 7); i++) {
                if ((name[i] >= '0') && (name[i] <= '9')) {
                    parser->module->target =
                        10 * parser->module->target + (uint32_t)(name[i] - '0');
                }
            }
        }
        ptx_advance(parser);
    }
}
