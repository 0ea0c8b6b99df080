/* SPDX-License-Identifier: BSD-3-Clause */
/* CUDA C++ to C++, and the edit of its assembly.
 *
 *   kernel<<<grid, block>>>(a, b)    launch("kernel", grid, block).of([=](auto pick)
 *                                    -> decltype(pick.of(kernel)) { return pick.of(kernel); },
 *                                    [=](auto... args) { kernel(args...); })(a, b): the first
 *                                    function fails if the arguments must select the kernel
 *   __shared__ float tile[32];       static float tile[32], in the section of shared memory: the
 *                                    blocks of a kernel run one after another
 *   extern __shared__ int all[];     another name of the runtime's array
 *   __device__ int count;            in the section of device variables
 *
 * The source is preprocessed, so macros and headers need no rules, and has no comments. */
#include "translate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECTION(_name) "__attribute__((section(\"" _name "\"), used)) "
#define GAP "\t.zero\t256\n"

/* ---- texts ---- */

void check_text_add(check_text *text, const char *from, size_t bytes)
{
    if (text->bytes + bytes + 1u > text->room) {
        size_t room  = 2u * (text->room + bytes) + 4096u;
        char  *wider = realloc(text->start, room);

        if (wider == NULL) {
            text->failed = 1;
            return;
        }
        text->start = wider;
        text->room  = room;
    }
    memcpy(text->start + text->bytes, from, bytes);
    text->bytes += bytes;
    text->start[text->bytes] = '\0';
}

void check_text_say(check_text *text, const char *words)
{
    check_text_add(text, words, strlen(words));
}

/* ---- tokens ---- */

static int is_word(char c)
{
    return isalnum((unsigned char)c) || (c == '_') || (c == '$');
}

/* The end of the string or character literal that begins here; raw strings, too. */
static const char *skip_literal(const char *at, const char *begin)
{
    const char quote = *at;

    if ((quote == '"') && (at > begin) && (at[-1] == 'R')) {
        const char *open = strchr(at, '(');
        char        end[24];

        if ((open != NULL) && (open - at < 18)) {
            (void)snprintf(end, sizeof(end), ")%.*s\"", (int)(open - at - 1), at + 1);
            open = strstr(open, end);
            return (open != NULL) ? open + strlen(end) : at + strlen(at);
        }
    }
    for (at++; (*at != '\0') && (*at != quote) && (*at != '\n'); at++) {
        at += (*at == '\\') && (at[1] != '\0');
    }
    return (*at == quote) ? at + 1 : at;
}

static int is_literal(const char *at, const char *begin)
{
    /* 1'000 is one number */
    return (*at == '"') || ((*at == '\'') && ((at == begin) || !isdigit((unsigned char)at[-1])));
}

static const char *skip_blanks(const char *at)
{
    for (;;) {
        if (isspace((unsigned char)*at)) {
            at++;
        } else if ((*at == '#') && (at[-1] == '\n')) { /* a line marker */
            at += strcspn(at, "\n");
        } else {
            return at;
        }
    }
}

/* From an opening bracket to after its end; NULL: there is none. */
static const char *skip_brackets(const char *at)
{
    const char *begin = at;
    int         depth = 0;

    while (*at != '\0') {
        if (is_literal(at, begin)) {
            at = skip_literal(at, begin);
            continue;
        }
        depth += (strchr("([{", *at) != NULL) - (strchr(")]}", *at) != NULL);
        at++;
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

/* ---- launches ---- */

/* Back over one bracketed part that ends before `at`; NULL: it does not begin.  Angles in round
 * brackets compare. */
static const char *back_over(const char *begin, const char *at, char open, char close)
{
    int depth = 0;

    while (at > begin) {
        at--;
        if ((*at == ')') && (close == '>')) {
            at = back_over(begin, at + 1, '(', ')');
            if (at == NULL) {
                return NULL;
            }
        } else {
            depth += (*at == close) - (*at == open);
            if (depth == 0) {
                return at;
            }
        }
    }
    return NULL;
}

static const char *back_blanks(const char *begin, const char *at)
{
    while ((at > begin) && isspace((unsigned char)at[-1])) {
        at--;
    }
    return at;
}

/* Where the expression before `<<<` begins: names, `::`, `.`, `->`, template arguments,
 * brackets. */
static const char *callee_begin(const char *begin, const char *end)
{
    const char *at = back_blanks(begin, end);

    for (;;) {
        at = back_blanks(begin, at);
        if ((at > begin) && (at[-1] == '>') && !((at - 1 > begin) && (at[-2] == '-'))) {
            at = back_over(begin, at, '<', '>');
        } else if ((at > begin) && (at[-1] == ']')) {
            at = back_over(begin, at, '[', ']');
            if (at != NULL) {
                continue;
            }
        } else if ((at > begin) && (at[-1] == ')')) {
            at = back_over(begin, at, '(', ')');
            return at;
        }
        if (at == NULL) {
            return NULL;
        }
        at = back_blanks(begin, at);
        while ((at > begin) && is_word(at[-1])) {
            at--;
        }
        {
            const char *before = back_blanks(begin, at);

            if ((before - 1 > begin) && (((before[-1] == ':') && (before[-2] == ':')) ||
                                         ((before[-1] == '>') && (before[-2] == '-')))) {
                at = before - 2;
                if (!is_word(*(back_blanks(begin, at) - 1)) &&
                    (*(back_blanks(begin, at) - 1) != '>')) {
                    return at; /* ::name */
                }
            } else if ((before > begin) && (before[-1] == '.')) {
                at = before - 1;
            } else {
                return at;
            }
        }
    }
}

/* The `>>>` that ends the configuration that begins at `at`. */
static const char *configuration_end(const char *at)
{
    const char *begin = at;

    while (*at != '\0') {
        if (is_literal(at, begin)) {
            at = skip_literal(at, begin);
        } else if (strchr("([{", *at) != NULL) {
            at = skip_brackets(at);
            if (at == NULL) {
                return NULL;
            }
        } else if (strncmp(at, ">>>", 3) == 0) {
            return at;
        } else if (*at == ';') {
            return NULL;
        } else {
            at++;
        }
    }
    return NULL;
}

/* Add text with every token __null, which is NULL, as nullptr: it must pass through a template. */
static void add_arguments(check_text *out, const char *from, size_t bytes)
{
    for (const char *end = from + bytes; from < end;) {
        if ((strncmp(from, "__null", 6) == 0) && !is_word(from[6])) {
            check_text_say(out, "nullptr");
            from += 6;
        } else {
            check_text_add(out, from++, 1);
        }
    }
}

/* `at` is at `<<<`; returns the place after the launch, or NULL. */
static const char *translate_launch(const char *at, check_text *out, char *error, size_t room)
{
    /* the callee stands between each two of these */
    static const char *const around[] = {
        ").of([=](auto shpool_pick) -> decltype(shpool_pick.of(", ")) { return shpool_pick.of(",
        "); }, [=](auto... shpool_args) { ", "(shpool_args...); })",
    };
    check_text  inner = { 0 };
    char       *arguments;
    const char *begin = callee_begin(out->start, out->start + out->bytes);
    const char *config = at + 3;
    const char *end    = configuration_end(config);
    const char *open   = (end != NULL) ? skip_blanks(end + 3) : NULL;
    const char *close  = ((open != NULL) && (*open == '(')) ? skip_brackets(open) : NULL;
    size_t      keep;
    char       *callee;
    int         none;

    if ((begin == NULL) || (close == NULL)) {
        return NULL;
    }
    keep   = (size_t)(begin - out->start);
    callee = strdup(begin);
    if (callee == NULL) {
        out->failed = 1;
        return close;
    }
    out->bytes = keep;
    check_text_say(out, "::shpool_checker::launch(\"");
    for (const char *c = callee; *c != '\0'; c++) {
        if ((*c != '\n') && (*c != '"') && (*c != '\\')) {
            check_text_add(out, c, 1);
        }
    }
    check_text_say(out, "\", ");
    check_text_add(out, config, (size_t)(end - config));
    for (size_t i = 0; i < sizeof(around) / sizeof(around[0]); i++) {
        check_text_say(out, around[i]);
        check_text_say(out, (i + 1u < sizeof(around) / sizeof(around[0])) ? callee : "");
    }
    none = 1;
    for (const char *c = end + 3; c < open; c++) {
        none = none && isspace((unsigned char)*c);
    }
    check_text_add(out, end + 3, none ? (size_t)(open - end - 3) : 0u); /* its newlines */
    arguments = strndup(open, (size_t)(close - open));
    if (arguments != NULL) {
        check_translate(arguments, &inner, error, room);
        add_arguments(out, inner.start, inner.bytes);
    }
    out->failed |= (arguments == NULL) || inner.failed;
    free(inner.start);
    free(arguments);
    free(callee);
    return close;
}

/* ---- variables ---- */

/* Is it a function, or part of one?  Looks from after a specifier to what ends the declarator. */
typedef struct declaration {
    int         is_function;
    int         is_extern;
    int         is_const;
    const char *end; /* its `;`, or NULL */
} declaration;

static declaration look_ahead(const char *at)
{
    declaration found = { 0, 0, 0, NULL };
    const char *begin = at;
    const char *word  = at;
    size_t      bytes = 0;
    int         angle = 0;

    while ((*at != '\0') && (*at != ';') && (*at != '{') && (*at != '}')) {
        if (is_literal(at, begin)) {
            at = skip_literal(at, begin);
        } else if (is_word(*at)) {
            word  = at;
            while (is_word(*at)) {
                at++;
            }
            bytes = (size_t)(at - word);
            if ((bytes == 8) && (strncmp(word, "operator", 8) == 0)) {
                found.is_function = 1;
                return found;
            }
            found.is_extern |= (bytes == 6) && (strncmp(word, "extern", 6) == 0);
            found.is_const  |= ((bytes == 5) && (strncmp(word, "const", 5) == 0)) ||
                              ((bytes == 9) && (strncmp(word, "constexpr", 9) == 0));
        } else if (*at == '(') {
            if ((angle == 0) && !(((bytes == 13) && (strncmp(word, "__attribute__", 13) == 0)) ||
                                  ((bytes == 7) && (strncmp(word, "alignas", 7) == 0)) ||
                                  ((bytes == 8) && (strncmp(word, "decltype", 8) == 0)))) {
                found.is_function = 1;
                return found;
            }
            at = skip_brackets(at);
            if (at == NULL) {
                return found;
            }
        } else if ((*at == '=') && (angle == 0)) {
            return found;
        } else {
            angle += (*at == '<') - ((*at == '>') && (angle > 0));
            at++;
        }
    }
    found.end = (*at == ';') ? at : NULL;
    return found;
}

/* Is this word among the specifiers that precede, in the same statement? */
static int says_before(const check_text *out, const char *word)
{
    size_t bytes = strlen(word);
    size_t at    = out->bytes;

    while ((at > 0) && (strchr(";{}", out->start[at - 1u]) == NULL) &&
           (out->start[at - 1u] != '\n')) {
        at--;
    }
    for (; at + bytes <= out->bytes; at++) {
        if ((strncmp(out->start + at, word, bytes) == 0) && !is_word(out->start[at + bytes]) &&
            ((at == 0) || !is_word(out->start[at - 1u]))) {
            return 1;
        }
    }
    return 0;
}

/* clang allows C's word here, not C++'s; returns where to go on. */
static const char *say_alignas(const char *at, check_text *out)
{
    if (strncmp(skip_blanks(at), "alignas", 7) != 0) {
        return at;
    }
    check_text_say(out, " _Alignas");
    return skip_blanks(at) + 7;
}

/* After the word __shared__; returns where to go on. */
static const char *translate_shared(const char *at, check_text *out)
{
    declaration is = look_ahead(at);

    if ((is.is_extern || says_before(out, "extern")) && (is.end != NULL)) {
        at = say_alignas(at, out);
        check_text_add(out, at, (size_t)(is.end - at));
        check_text_say(out, " __asm__(\"shpool_check_dynamic\")");
        return is.end;
    }
    check_text_say(out, says_before(out, "static") || (strncmp(skip_blanks(at), "static", 6) == 0)
                            ? SECTION("shpool_shared") : "static " SECTION("shpool_shared"));
    return say_alignas(at, out);
}

static void translate_device(const char *at, check_text *out)
{
    declaration is = look_ahead(at);

    if (!is.is_function && !is.is_const && !is.is_extern && !says_before(out, "const") &&
        !says_before(out, "extern") && !says_before(out, "inline") &&
        !says_before(out, "__attribute__")) {
        check_text_say(out, SECTION("shpool_device"));
    }
}

/* ---- the whole ---- */

static int is_this(const char *word, size_t bytes, const char *name)
{
    return (strlen(name) == bytes) && (strncmp(word, name, bytes) == 0);
}

/* Inline assembly with instructions of PTX, whose names have dots. */
static int is_ptx(const char *word, const char *at)
{
    size_t bytes = (size_t)(at - word);
    const char *quote;

    if (!is_this(word, bytes, "asm") && !is_this(word, bytes, "__asm__") &&
        !is_this(word, bytes, "__asm")) {
        return 0;
    }
    quote = at + strcspn(at, "\"{;");
    for (quote++; (quote[-1] != '\0') && (*quote != '\0') && (*quote != '"'); quote++) {
        if ((*quote == '.') && islower((unsigned char)quote[-1]) &&
            islower((unsigned char)quote[1])) {
            return 1; /* ld.global, mov.u32: not of a CPU */
        }
    }
    return 0;
}

#define CASTS 4u
static const char *const casts[CASTS] = { "void*)", "void *)", "const void*)", "const void *)" };

/* An identifier; returns where to go on. */
static const char *translate_word(const char *word, const char *at, check_text *out)
{
    size_t bytes = (size_t)(at - word);

    if (is_this(word, bytes, "__shared__")) {
        return translate_shared(at, out);
    }
    if (is_this(word, bytes, "__device__") || is_this(word, bytes, "__constant__") ||
        is_this(word, bytes, "__managed__")) {
        translate_device(at, out);
        return at;
    }
    if (is_this(word, bytes, "cudaLaunchKernel")) { /* the parameters' types are needed */
        const char *cast = skip_blanks(at + strspn(at, " ("));
        size_t      c    = 0;

        check_text_add(out, word, bytes);
        while ((c < CASTS) && (strncmp(cast, casts[c], strlen(casts[c])) != 0)) {
            c++;
        }
        if ((*at == '(') && (at[1] == '(') && (c < CASTS)) {
            check_text_say(out, "(");
            at = cast + strlen(casts[c]);
        }
        return at;
    }
    if (is_this(word, bytes, "__noinline__") && (out->bytes > 0) &&
        (out->start[out->bytes - 1u] != '(')) {
        check_text_say(out, "__attribute__((noinline))");
        return at;
    }
    check_text_add(out, word, bytes);
    return at;
}

void check_translate(const char *source, check_text *out, char *error, size_t room)
{
    const char *at   = source;
    const char *file = "";
    long        line = 0;

    error[0] = '\0';
    check_text_say(out, "");
    while ((*at != '\0') && (error[0] == '\0')) {
        const char *begin = at;

        if ((*at == '#') && ((at == source) || (at[-1] == '\n'))) { /* a line marker, a pragma */
            if (isdigit((unsigned char)at[2])) {
                line = strtol(at + 1, NULL, 10) - 1;
                file = at + strcspn(at, "\"\n") + 1;
            }
            at += strcspn(at, "\n");
            check_text_add(out, begin, (size_t)(at - begin));
        } else if (is_literal(at, source)) {
            at = skip_literal(at, source);
            check_text_add(out, begin, (size_t)(at - begin));
        } else if (is_word(*at)) {
            while (is_word(*at)) {
                at++;
            }
            if (is_ptx(begin, at)) {
                (void)snprintf(error, room, "inline PTX does not run on a CPU: %.*s:%ld",
                               (int)strcspn(file, "\"\n"), file, line);
            }
            at = translate_word(begin, at, out);
        } else if (strncmp(at, "<<<", 3) == 0) {
            at = translate_launch(at, out, error, room);
            if (at == NULL) {
                (void)snprintf(error, room, "a launch that cannot be read: %.*s:%ld",
                               (int)strcspn(file, "\"\n"), file, line);
            }
        } else {
            line += *at == '\n';
            check_text_add(out, at++, 1);
        }
    }
}

/* ---- assembly ---- */

static const char *const renamed[] = {
    "memcpy", "memmove", "memset", "malloc", "free", "__assert_fail",
    "_Znwm", "_Znam", "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t",
    "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t", "_ZdlPv", "_ZdaPv", "_ZdlPvm", "_ZdaPvm",
    "_ZdlPvSt11align_val_t", "_ZdaPvSt11align_val_t", "_ZdlPvmSt11align_val_t",
    "_ZdaPvmSt11align_val_t",
};

/* Add a line; a call of one of these becomes one of shpool_check_c_memcpy and so on. */
static void add_line(check_text *out, const char *line, size_t bytes)
{
    const char *end    = line + bytes;
    const char *op     = line + strspn(line, "\t ");
    const char *name   = op + strcspn(op, "\t \n");
    size_t      length = 0;
    size_t      i      = 0;

    name += strspn(name, "\t ");
    while (is_word(name[length])) {
        length++;
    }
    while ((i < sizeof(renamed) / sizeof(renamed[0])) && !is_this(name, length, renamed[i])) {
        i++;
    }
    if ((i < sizeof(renamed) / sizeof(renamed[0])) &&
        ((strncmp(op, "call", 4) == 0) || (strncmp(op, "jmp", 3) == 0) ||
         (strncmp(op, "bl\t", 3) == 0) || (strncmp(op, "b\t", 2) == 0))) {
        check_text_add(out, line, (size_t)(name - line));
        check_text_say(out, "shpool_check_c_");
        line = name;
    }
    check_text_add(out, line, (size_t)(end - line));
}

void check_assembly(const char *source, check_text *out)
{
    int in_section = 0;
    static const char read_only[] = ",\"a";

    /* a gap before the first one, too */
    check_text_say(out, "\t.section\tshpool_shared,\"aw\"\n" GAP
                        "\t.section\tshpool_device,\"aw\"\n" GAP "\t.text\n");
    while (*source != '\0') {
        size_t bytes = strcspn(source, "\n");

        bytes += source[bytes] == '\n';
        if ((strncmp(source, "\t.section\t", 10) == 0) || (strncmp(source, "\t.text", 6) == 0) ||
            (strncmp(source, "\t.data", 6) == 0) || (strncmp(source, "\t.bss", 5) == 0)) {
            in_section = (strncmp(source + 10, "shpool_shared", 13) == 0) ||
                         (strncmp(source + 10, "shpool_device", 13) == 0);
        }
        if ((strncmp(source, "\t.section\tshpool_", 17) == 0) &&
            (strncmp(source + 23, read_only, 3) == 0) && (source[26] != 'w')) {
            check_text_add(out, source, 26); /* clang forgets this for templates of variables */
            check_text_say(out, "w");
            check_text_add(out, source + 26, bytes - 26u);
        } else {
            add_line(out, source, bytes);
        }
        if (in_section && (strncmp(source, "\t.size\t", 7) == 0)) {
            check_text_say(out, GAP);
        }
        source += bytes;
    }
}
