/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: nvcc's options, in clang's words. */
#include "build.h"

#include <string.h>

#include "tools/message.h"

typedef enum kind {
    DROP,       /* it means nothing here */
    DROP_VALUE, /* nor does its value: after `=`, or the next word */
    COMPILE,    /* with its value, for the compiler */
    LINK,       /* with its value, for the linker */
    WHOLE,      /* for the linker, as it is */
    STANDARD,   /* -std */
    HOST        /* -Xcompiler */
} kind;

/* The names without their dashes; `*`: the value may follow in the same word.  nvcc's list is in
 * `nvcc --help`; an option that is not here is clang's. */
static const struct {
    kind        kind;
    const char *as; /* clang's option */
    const char *names;
} table[] = {
    { DROP_VALUE, NULL, "gpu-architecture arch gpu-code code generate-code gencode rdc "
      "relocatable-device-code maxrregcount ptxas-options Xptxas nvlink-options Xnvlink "
      "archive-options Xarchive compiler-bindir ccbin archiver-binary arbin cudart cudadevrt "
      "libdevice-directory ldir target-directory target-dir output-directory odir output-file o "
      "optimization-info opt-info Ofast-compile Ofc dopt machine x* threads t split-compile "
      "split-compile-extended fdevice-time-trace keep-dir time run-args entries ftz prec-div "
      "prec-sqrt fmad default-stream Werror diag-error diag-suppress diag-warn brief-diag "
      "jump-table-density jtd device-stack-protector compress-mode sanitize options-file optf "
      "static-global-template-stub device-entity-has-hidden-visibility optimize MF MT" },
    { DROP, NULL, "lineinfo generate-line-info G device-debug g* debug pg profile O* c compile "
      "dc device-c dw device-w dlink device-link link lib run dlto lto dlink-time-opt gen-opt-lto "
      "use_fast_math extended-lambda expt-extended-lambda expt-relaxed-constexpr "
      "extra-device-vectorization restrict res-usage resource-usage keep save-temps "
      "objdir-as-tempdir objtemp no-device-link nodlink allow-unsupported-compiler "
      "keep-device-functions source-in-ptx src-in-ptx extensible-whole-program ewp "
      "forward-unknown-to-host-compiler forward-unknown-to-host-linker forward-unknown-opts "
      "dont-use-profile noprof verbose v no-compress display-error-number err-no "
      "no-display-error-number no-err-no disable-warnings w no-host-device-initializer-list "
      "nohdinitlist no-host-device-move-forward nohdmoveforward no-align-double m64 shared M MM MD "
      "MMD MP fopenmp" },
    { COMPILE, "-D", "define-macro D*" },
    { COMPILE, "-U", "undefine-macro U*" },
    { COMPILE, "-I", "include-path I*" },
    { COMPILE, "-isystem", "system-include isystem" },
    { COMPILE, "-include", "pre-include include" },
    { LINK, "-L", "library-path L*" },
    { LINK, "-l", "library l*" },
    { LINK, "-Xlinker", "linker-options Xlinker" },
    { WHOLE, NULL, "Wl,*" },
    { STANDARD, NULL, "std" },
    { HOST, NULL, "compiler-options Xcompiler" },
    { DROP, NULL, "W*" }, /* the program is compiled without warnings */
};
#define ROWS (sizeof(table) / sizeof(table[0]))

/* Is the word one of these names?  *value_p: what follows it in the word, or NULL. */
static int is_named(const char *word, const char *names, const char **value_p)
{
    const size_t word_bytes = strcspn(word, "=");

    while (*names != '\0') {
        const size_t bytes = strcspn(names, " ");

        *value_p = NULL;
        if ((bytes == word_bytes) && (strncmp(names, word, bytes) == 0)) {
            *value_p = (word[bytes] == '=') ? word + bytes + 1 : NULL;
            return 1;
        }
        if ((names[bytes - 1u] == '*') && (strncmp(names, word, bytes - 1u) == 0)) {
            *value_p = (word[bytes - 1u] != '\0') ? word + bytes - 1u : NULL;
            return 1;
        }
        names += bytes + (names[bytes] == ' ');
    }
    return 0;
}

/* The headers need C++17; nvcc 13 knows up to C++20. */
static void add_standard(check_command *compile, const char *value)
{
    const char *year = (value != NULL) ? strstr(value, "++2") : NULL;

    if (year != NULL) {
        check_command_add(compile, (strchr("0a", year[3]) != NULL) ? "-std=c++20" : "-std=c++2b");
    }
}

/* Of the host compiler's options, those of the preprocessor. */
static void add_host(check_command *compile, char *value)
{
    for (char *word = (value != NULL) ? strtok(value, ", ") : NULL; word != NULL;
         word = strtok(NULL, ", ")) {
        if ((word[0] == '-') && (strchr("DUI", word[1]) != NULL)) {
            check_command_add(compile, word);
        }
    }
}

static void add_option(check_request *request, size_t row, const char *value)
{
    switch (table[row].kind) {
    case COMPILE:
        check_command_add(&request->compile, table[row].as);
        check_command_add(&request->compile, value);
        break;
    case LINK:
        if ((strncmp(value, "cuda", 4) != 0) && (strncmp(value, "nvToolsExt", 10) != 0)) {
            check_command_add(&request->link, table[row].as);
            check_command_add(&request->link, value);
        }
        break;
    case STANDARD:
        add_standard(&request->compile, value);
        break;
    case HOST:
        add_host(&request->compile, (char *)(uintptr_t)value); /* a word of main()'s */
        break;
    default:
        break;
    }
}

int check_options(check_request *request, char **words, int count)
{
    for (int i = 0; i < count; i++) {
        const char *name  = words[i] + strspn(words[i], "-");
        const char *value = NULL;
        size_t      row   = 0;

        while ((row < ROWS) && !is_named(name, table[row].names, &value)) {
            row++;
        }
        if ((words[i][0] != '-') || ((row < ROWS) && (table[row].kind == WHOLE))) {
            check_command_add(&request->link, words[i]); /* an object, a library */
        } else if (row == ROWS) {
            check_command_add(&request->compile, words[i]);
        } else {
            if ((table[row].kind != DROP) && (value == NULL)) {
                if (++i == count) {
                    tool_say("shpool-check: %s needs a value\n", words[i - 1]);
                    return -1;
                }
                value = words[i];
            }
            add_option(request, row, value);
        }
    }
    return 0;
}
