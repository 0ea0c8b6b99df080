/* SPDX-License-Identifier: BSD-3-Clause */
/* The larger examples' command lines: numbers by name, and one file. */
#ifndef SHPOOL_EXAMPLES_OPTIONS_H
#define SHPOOL_EXAMPLES_OPTIONS_H

#include "machine.h"

#include <string>
#include <vector>

struct number_option {
    const char *name;  /* with its dashes */
    uint32_t   *value; /* the default, at first */
    uint32_t    least;
    uint32_t    most;
    uint32_t    multiple_of; /* 1: any */
    const char *text;
};

static inline std::string range_of(const number_option &option)
{
    const std::string unit = (option.multiple_of > 1u)
                                 ? ", a multiple of " + std::to_string(option.multiple_of)
                                 : "";

    return std::to_string(option.least) + " to " + std::to_string(option.most) + unit;
}

static inline uint32_t read_number(const number_option &option, const char *text)
{
    char                    *end   = nullptr;
    const unsigned long long value = (text != nullptr) ? std::strtoull(text, &end, 10) : 0;

    if ((text == nullptr) || (end == text) || (*end != '\0') || (*text == '-') ||
        (value < option.least) || (value > option.most) || (value % option.multiple_of != 0)) {
        const std::string why = "needs a number of " + range_of(option) + ", not " +
                                ((text != nullptr) ? text : "nothing");

        machine_fail(option.name, why.c_str());
    }
    return static_cast<uint32_t>(value);
}

static inline void print_options(const char *usage, const std::vector<number_option> &options)
{
    std::printf("usage: %s\n", usage);
    for (const number_option &option : options) {
        std::printf("  %-12s %s: %s [%u]\n", option.name, option.text, range_of(option).c_str(),
                    *option.value);
    }
}

/* Store the values of the command line's options, and return the file's name, or NULL.  --help
 * lists the options and ends the program. */
static inline const char *read_options(int argc, char **argv, const char *usage,
                                       const std::vector<number_option> &options)
{
    const char *file = nullptr;

    for (int i = 1; i < argc; i++) {
        const std::string name  = argv[i];
        bool              known = name.rfind("-", 0) != 0;

        if ((name == "--help") || (name == "-h")) {
            print_options(usage, options);
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
            machine_fail(name.c_str(), "is not an option; --help lists them");
        }
    }
    return file;
}

#endif /* SHPOOL_EXAMPLES_OPTIONS_H */
