/* SPDX-License-Identifier: BSD-3-Clause */
/* The arrays as on the page of MGPU's library: FillAscending<int>(50, 0, 5), then
 * GenRandom<float>(50, 0, 10), then SortRandom<double>(50, 0, 20), by "%6d", "%6.2lf" and "%6.2lf"
 * in 10 columns.  The page has one blank where rows have several. */
#ifndef SHPOOL_TESTS_PAGE_ARRAYS_H
#define SHPOOL_TESTS_PAGE_ARRAYS_H

static const char page_a[] =
    "0: 0 5 10 15 20 25 30 35 40 45\n"
    "10: 50 55 60 65 70 75 80 85 90 95\n"
    "20: 100 105 110 115 120 125 130 135 140 145\n"
    "30: 150 155 160 165 170 175 180 185 190 195\n"
    "40: 200 205 210 215 220 225 230 235 240 245\n";

static const char page_b[] =
    "0: 8.15 1.35 9.06 8.35 1.27 9.69 9.13 2.21 6.32 3.08\n"
    "10: 0.98 5.47 2.78 1.88 5.47 9.93 9.58 9.96 9.65 9.68\n"
    "20: 1.58 7.26 9.71 9.81 9.57 1.10 4.85 7.98 8.00 2.97\n"
    "30: 1.42 0.05 4.22 1.12 9.16 6.40 7.92 8.78 9.59 5.04\n"
    "40: 6.56 7.98 0.36 3.61 8.49 2.12 9.34 6.81 6.79 3.99\n";

static const char page_c[] =
    "0: 0.64 0.69 0.73 0.92 1.02 1.94 2.50 2.52 2.98 3.42\n"
    "10: 3.48 3.74 4.20 5.54 6.04 6.33 6.34 7.63 7.84 8.17\n"
    "20: 8.44 8.77 8.91 9.16 9.50 9.75 9.80 9.81 12.93 13.11\n"
    "30: 13.27 13.90 14.12 14.19 14.81 14.86 15.09 15.15 15.28 15.31\n"
    "40: 15.88 15.90 15.95 16.15 16.44 16.47 17.45 18.42 19.00 19.88\n";

/* Turn rows as they are printed into the page's: no blank at either end, one between words. */
static inline void page_squeeze(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0'; from++) {
        int at_start = (to == text) || (to[-1] == '\n');

        if ((*from == ' ') && (at_start || (to[-1] == ' '))) {
            continue;
        }
        if ((*from == '\n') && (to > text) && (to[-1] == ' ')) {
            to--;
        }
        *to++ = *from;
    }
    *to = '\0';
}

#endif /* SHPOOL_TESTS_PAGE_ARRAYS_H */
