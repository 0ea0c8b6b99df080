/* SPDX-License-Identifier: BSD-3-Clause */
/* PTX text to tokens, and the parser's common operations on tokens.  Comments matter in two ways:
 * nvcc marks inline assembly with them, and a kernel opts out with one. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/escape.h"

#define MARK "shpool-coalesce: off"

void ptx_lexer_init(ptx_lexer *lexer, const char *text, uint32_t bytes)
{
    *lexer = (ptx_lexer){ .text = text, .bytes = bytes, .line = 1 };
}

static int is_letter(char c)
{
    return ((c >= 'a') && (c <= 'z')) || ((c >= 'A') && (c <= 'Z')) || (c == '_') || (c == '$') ||
           (c == '%') || (c == '.');
}

static int is_digit(char c)
{
    return (c >= '0') && (c <= '9');
}

/* The character `ahead` of the current one; NUL past the end. */
static char peek(const ptx_lexer *lexer, uint32_t ahead)
{
    return (ahead < lexer->bytes - lexer->at) ? lexer->text[lexer->at + ahead] : '\0';
}

static int holds(const char *text, size_t bytes, const char *part)
{
    const size_t length = strlen(part);

    for (size_t i = 0; i + length <= bytes; i++) {
        if (memcmp(text + i, part, length) == 0) {
            return 1;
        }
    }
    return 0;
}

static void newline(ptx_lexer *lexer)
{
    lexer->line++;
    lexer->line_begin = lexer->at + 1;
}

/* A comment to the end of its line. */
static void skip_line(ptx_lexer *lexer)
{
    const uint32_t begin = lexer->at;

    while ((lexer->at < lexer->bytes) && (lexer->text[lexer->at] != '\n')) {
        lexer->at++;
    }
    if (holds(lexer->text + begin, lexer->at - begin, "begin inline asm")) {
        lexer->foreign = 1;
    } else if (holds(lexer->text + begin, lexer->at - begin, "end inline asm")) {
        lexer->foreign = 0;
    }
    if (holds(lexer->text + begin, lexer->at - begin, MARK)) {
        lexer->marks++;
    }
}

/* A bracketed comment; 0: it has no end. */
static int skip_comment(ptx_lexer *lexer)
{
    const uint32_t begin = lexer->at;

    lexer->at += 2;
    while (lexer->at < lexer->bytes) {
        if ((lexer->text[lexer->at] == '*') && (peek(lexer, 1) == '/')) {
            lexer->at += 2;
            if (holds(lexer->text + begin, lexer->at - begin, MARK)) {
                lexer->marks++;
            }
            return 1;
        }
        if (lexer->text[lexer->at] == '\n') {
            newline(lexer);
        }
        lexer->at++;
    }
    lexer->at = begin;
    return 0;
}

/* Blanks, comments and lines of the preprocessor; 0: an unfinished comment is next. */
static int skip_blanks(ptx_lexer *lexer)
{
    while (lexer->at < lexer->bytes) {
        const char c = lexer->text[lexer->at];

        if (c == '\n') {
            newline(lexer);
            lexer->at++;
        } else if ((c == ' ') || (c == '\t') || (c == '\r') || (c == '\f') || (c == '\v')) {
            lexer->at++;
        } else if (((c == '/') && (peek(lexer, 1) == '/')) ||
                   ((c == '#') && (lexer->at == lexer->line_begin))) {
            skip_line(lexer);
        } else if ((c == '/') && (peek(lexer, 1) == '*')) {
            if (!skip_comment(lexer)) {
                return 0;
            }
        } else if ((c == '\0') && (lexer->at + 1 == lexer->bytes)) {
            lexer->at++; /* a final NUL, as NVRTC's sizes count it */
        } else {
            return 1;
        }
    }
    return 1;
}

static void take_word(ptx_lexer *lexer)
{
    while ((lexer->at < lexer->bytes) &&
           (is_letter(lexer->text[lexer->at]) || is_digit(lexer->text[lexer->at]) ||
            ((lexer->text[lexer->at] == ':') && (peek(lexer, 1) == ':')))) {
        lexer->at += (lexer->text[lexer->at] == ':') ? 2 : 1; /* shared::cta */
    }
}

/* 0: the line ends before the string does. */
static int take_string(ptx_lexer *lexer)
{
    lexer->at++;
    while ((lexer->at < lexer->bytes) && (lexer->text[lexer->at] != '\n')) {
        if (lexer->text[lexer->at++] == '"') {
            return 1;
        }
    }
    return 0;
}

ptx_token ptx_next(ptx_lexer *lexer)
{
    const int fine  = skip_blanks(lexer);
    ptx_token token = { .kind = PTX_END, .begin = lexer->at, .end = lexer->at,
                        .line = lexer->line, .foreign = lexer->foreign };
    char      c;

    if (lexer->at >= lexer->bytes) {
        return token;
    }
    c = lexer->text[lexer->at];
    if (!fine) {
        token.kind = PTX_BAD;
        lexer->at  = lexer->bytes;
    } else if (is_digit(c)) {
        token.kind = PTX_NUMBER;
        take_word(lexer);
    } else if (is_letter(c)) {
        token.kind = PTX_WORD;
        take_word(lexer);
    } else if (c == '"') {
        token.kind = take_string(lexer) ? PTX_STRING : PTX_BAD;
    } else {
        token.kind = ((unsigned char)c > ' ') ? PTX_PUNCT : PTX_BAD;
        lexer->at++;
    }
    token.end = lexer->at;
    return token;
}

/* ---- numbers ---- */

static int digit_of(char c)
{
    if ((c >= '0') && (c <= '9')) {
        return c - '0';
    }
    if ((c >= 'a') && (c <= 'f')) {
        return c - 'a' + 10;
    }
    return ((c >= 'A') && (c <= 'F')) ? c - 'A' + 10 : 99;
}

int ptx_integer(const ptx_module *module, uint32_t begin, uint32_t end, int64_t *value_p)
{
    const char *text  = module->text;
    uint64_t    value = 0;
    int         base  = 10;

    if ((end > begin) && ((text[end - 1] == 'U') || (text[end - 1] == 'u'))) {
        end--;
    }
    if ((end - begin > 1) && (text[begin] == '0')) {
        const char kind = text[begin + 1];

        base = ((kind == 'x') || (kind == 'X')) ? 16 : ((kind == 'b') || (kind == 'B')) ? 2 : 8;
        begin += (base == 8) ? 1 : 2;
    }
    if (end <= begin) {
        return 0;
    }
    for (uint32_t i = begin; i < end; i++) {
        if (digit_of(text[i]) >= base) {
            return 0; /* 0f3F800000, 1.5 */
        }
        value = value * (uint64_t)base + (uint64_t)digit_of(text[i]);
    }
    *value_p = (int64_t)value;
    return 1;
}

/* ---- the current token of a parser ---- */

int ptx_reserve(void **array, uint32_t *capacity, size_t element_bytes)
{
    const uint32_t wanted = (*capacity == 0) ? 64 : 2 * *capacity;
    void          *grown  = (wanted > UINT32_MAX / 4) ? NULL
                                                      : realloc(*array, wanted * element_bytes);

    if (grown == NULL) {
        return 0;
    }
    *array    = grown;
    *capacity = wanted;
    return 1;
}

void ptx_advance(ptx_parser *parser)
{
    parser->token = ptx_next(&parser->lexer);
    if (parser->token.kind == PTX_BAD) {
        ptx_fail(parser, "an unfinished comment or string, or a control character");
    }
}

int ptx_is_punct(const ptx_parser *parser, char c)
{
    return (parser->token.kind == PTX_PUNCT) &&
           (parser->module->text[parser->token.begin] == c);
}

int ptx_text_is(const ptx_module *module, uint32_t begin, uint32_t end, const char *word)
{
    const size_t bytes = strlen(word);

    return (end - begin == bytes) && (memcmp(module->text + begin, word, bytes) == 0);
}

int ptx_is_word(const ptx_parser *parser, const char *word)
{
    return (parser->token.kind == PTX_WORD) &&
           ptx_text_is(parser->module, parser->token.begin, parser->token.end, word);
}

/* Record the first error, and make the rest of the text invisible. */
void ptx_fail(ptx_parser *parser, const char *what)
{
    ptx_module *module = parser->module;
    uint32_t    begin  = parser->token.begin;
    size_t      bytes  = ptx_token_bytes(parser);
    char        shown[41];

    if (!parser->failed) {
        while ((begin > 0) && (module->text[begin - 1] != '\n')) {
            begin--;
        }
        module->error_line   = parser->token.line;
        module->error_column = parser->token.begin - begin + 1;
        shpool_escape(shown, sizeof(shown), module->text + parser->token.begin, bytes);
        if (parser->token.kind == PTX_END) {
            (void)snprintf(module->error, sizeof(module->error), "%s at the end of the text", what);
        } else if (parser->token.kind == PTX_BAD) {
            (void)snprintf(module->error, sizeof(module->error), "%s", what);
        } else {
            (void)snprintf(module->error, sizeof(module->error), "%s at \"%s\"", what, shown);
        }
    }
    parser->failed   = 1;
    parser->lexer.at = parser->lexer.bytes;
    parser->token    = (ptx_token){ .kind = PTX_END, .begin = parser->lexer.bytes,
                                    .end = parser->lexer.bytes, .line = parser->lexer.line };
}

void ptx_expect(ptx_parser *parser, char c, const char *what)
{
    if (!ptx_is_punct(parser, c)) {
        ptx_fail(parser, what);
        return;
    }
    ptx_advance(parser);
}

/* Consume the number at the current token; 0 if it is not a number. */
uint32_t ptx_take_number(ptx_parser *parser)
{
    int64_t value = 0;

    if ((parser->token.kind == PTX_NUMBER) &&
        ptx_integer(parser->module, parser->token.begin, parser->token.end, &value) &&
        (value >= 0) && (value <= UINT32_MAX)) {
        ptx_advance(parser);
        return (uint32_t)value;
    }
    if (!ptx_ended(parser)) {
        ptx_advance(parser);
    }
    return 0;
}

/* Past the semicolon that ends a statement; braces (initializers) are skipped with it. */
void ptx_skip_statement(ptx_parser *parser)
{
    unsigned depth = 0;

    while (!ptx_ended(parser)) {
        if (ptx_is_punct(parser, '{')) {
            depth++;
        } else if (ptx_is_punct(parser, '}')) {
            if (depth == 0) {
                ptx_fail(parser, "a semicolon is missing");
                return;
            }
            depth--;
        } else if (ptx_is_punct(parser, ';') && (depth == 0)) {
            ptx_advance(parser);
            return;
        }
        ptx_advance(parser);
    }
    ptx_fail(parser, "a semicolon is missing");
}
