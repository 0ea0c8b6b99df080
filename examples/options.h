/* SPDX-License-Identifier: BSD-3-Clause */
/* The larger examples' command lines: numbers by name, and one file. */
#ifndef SHPOOL_EXAMPLES_OPTIONS_H
#define SHPOOL_EXAMPLES_OPTIONS_H

#include "machine.h"

#include <initializer_list>
#include <string>

struct number_option {
    const char *name; /* with its dashes */
    uint32_t   *value;
    uint32_t    least;
    uint32_t    most;
};

static inline uint32_t read_number(const number_option &option, const char *text)
{
    char                    *end   = nullptr;
    const unsigned long long value = (text != nullptr) ? std::strtoull(text, &end, 10) : 0;

    if ((text == nullptr) || (end == text) || (*end != '\0') || (*text == '-') ||
        (value < option.least) || (value > option.most)) {
        const std::string why = "needs a number of " + std::to_string(option.least) + " to " +
                                std::to_string(option.most) + ", not " +
                                ((text != nullptr) ? text : "nothing");

        machine_fail(option.name, why.c_str());
    }
    return static_cast<uint32_t>(value);
}

/* Fills in what the command line has, and returns the file's name, or NULL; --help prints the usage
 * and ends the program. */
static inline const char *read_options(int argc, char **argv, const char *usage,
                                       std::initializer_list<number_option> options)
{
    const char *file = nullptr;

    for (int i = 1; i < argc; i++) {
        const std::string name  = argv[i];
        bool              known = name.rfind("--", 0) != 0;

        if (name == "--help") {
            std::printf("usage: %s\n", usage);
            std::exit(0);
        }
        if (known && (file != nullptr)) {
            machine_fail(argv[i], "is a second file");
        }
        file = known ? argv[i] : file;
        for (const number_option &option : options) {
            if (name == option.name) {
                *option.value = read_number(option, argv[++i]); /* argv ends with NULL */
                known         = true;
            }
        }
        if (!known) {
            machine_fail(name.c_str(), "is no option; --help lists them");
        }
    }
    return file;
}

#endif /* SHPOOL_EXAMPLES_OPTIONS_H */
