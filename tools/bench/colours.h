/* SPDX-License-Identifier: BSD-3-Clause */
/* Colours of charts and maps, 0xRRGGBB: those of Okabe and Ito (Color Universal Design, 2008),
 * which readers with any colour vision tell apart.  Their yellow is too light on white. */
#ifndef SHPOOL_BENCH_COLOURS_H
#define SHPOOL_BENCH_COLOURS_H

enum {
    COLOUR_BLACK     = 0x000000,
    COLOUR_ORANGE    = 0xe69f00,
    COLOUR_SKY       = 0x56b4e9,
    COLOUR_GREEN     = 0x009e73,
    COLOUR_BLUE      = 0x0072b2,
    COLOUR_VERMILION = 0xd55e00,
    COLOUR_PURPLE    = 0xcc79a7,
    COLOUR_GREY      = 0x999999 /* what is no subject: null, plain, merged */
};

#endif /* SHPOOL_BENCH_COLOURS_H */
