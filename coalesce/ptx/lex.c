/* SPDX-License-Identifier: BSD-3-Clause */
/* PTX text to tokens.  Comments matter twice: nvcc marks inline assembly with them, and a kernel
 * that wants to be left alone says so in one. */
#include "ptx.h"

#include <string.h>

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
