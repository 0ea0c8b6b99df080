/* SPDX-License-Identifier: BSD-3-Clause */
/* The larger examples' command lines: numbers by name, and one file if the usage has FILE. */
#ifndef SHPOOL_EXAMPLES_OPTIONS_H
#define SHPOOL_EXAMPLES_OPTIONS_H

#include "machine.h"

struct number_option {
    const char *name;  /* with its dashes */
    uint32_t   *value; /* the default, at first */
    uint32_t    least, most, multiple_of; /* 1: any */
    const char *text;

    std::string range() const
    {
        return std::to_string(least) + " to " + std::to_string(most) +
               ((multiple_of > 1u) ? ", a multiple of " + std::to_string(multiple_of) : "");
    }
    void read(const char *from) const /* NULL: the command line ends */
    {
        char                    *end    = nullptr;
        const unsigned long long number = (from != nullptr) ? std::strtoull(from, &end, 10) : 0;

        if ((end == from) || (*end != '\0') || (number < least) || (number > most) ||
            (number % multiple_of != 0)) {
            machine_fail(name, "needs a number of " + range() + ", not " +
                                   ((from != nullptr) ? from : "nothing"));
        }
        *value = static_cast<uint32_t>(number);
    }
};

/* Store the values of the command line's options, and return the file's name, or NULL.  --help
 * lists the options and ends the program. */
static inline const char *read_options(int argc, char **argv, const char *usage,
                                       const std::vector<number_option> &options)
{
    const char *file = nullptr;

    for (int i = 1; i < argc; i++) {
        const std::string name   = argv[i];
        const auto        option = std::find_if(options.begin(), options.end(),
                                                [&](const auto &o) { return name == o.name; });

        if ((name == "--help") || (name == "-h")) {
            std::printf("usage: %s\n", usage);
            for (const number_option &o : options) {
                std::printf("  %-12s %s: %s [%u]\n", o.name, o.text, o.range().c_str(), *o.value);
            }
            std::exit(0);
        }
        if (option != options.end()) {
            option->read(argv[++i]); /* argv ends with NULL */
        } else if ((name.rfind("-", 0) == 0) || (file != nullptr) ||
                   (std::strstr(usage, "FILE") == nullptr)) {
            machine_fail(name, "is not expected; --help lists the options");
        } else {
            file = argv[i];
        }
    }
    return file;
}

#endif /* SHPOOL_EXAMPLES_OPTIONS_H */
