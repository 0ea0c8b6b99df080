/* SPDX-License-Identifier: BSD-3-Clause */
/* examples/decode: the tiles that it chooses for a pool which holds fewer of them than pages.  The
 * executor's segments are a fourth of a GPU's, and so are the shapes and sizes here. */
#include "examples/decode/model.h"

#include "tests/test.h"

namespace {

struct shape {
    const char *name;
    uint32_t    hidden, heads, kv_heads, head_dim, ff, vocab, panel;
};
const shape shapes[] = {
    { "rows of four segments", 512, 32, 8, 16, 2048, 32064, 2048 },
    { "in two panels", 512, 32, 8, 16, 2048, 32064, 1024 },
    { "rows of three and four", 768, 24, 8, 32, 2048, 32064, 2048 },
    { "rows of one and three", 224, 14, 2, 16, 1216, 37984, 2048 },
    { "rows of two panels", 384, 12, 2, 32, 2240, 37984, 2048 },
    { "heads of 24", 768, 32, 32, 24, 2048, 8016, 2048 },
    { "heads of 20, rows of four", 640, 32, 32, 20, 1728, 12576, 2048 },
};

model model_of(const shape &of)
{
    model m = {};

    m.layers   = 16;
    m.hidden   = of.hidden;
    m.heads    = of.heads;
    m.kv_heads = of.kv_heads;
    m.head_dim = of.head_dim;
    m.ff       = of.ff;
    m.vocab    = of.vocab;
    m.panel    = of.panel;
    m.split    = 3;
    (void)lay_out(m, 4096);
    return m;
}

} // namespace

/* What is measured to be best of as many tiles as pages, one fewer, and one more. */
UNIT_TEST(test_chosen)
{
    static const struct { uint32_t tile, pages, largest, tiles, bytes; } known[] = {
        { 8192, 6, 50424, 6, 8192 },  { 8192, 4, 32736, 5, 6528 },
        { 8192, 4, 33471, 4, 8192 },  { 8192, 3, 24736, 3, 8192 },
        { 4096, 4, 15968, 3, 5248 },  { 4096, 4, 16319, 3, 5376 },
        { 10240, 5, 50424, 6, 8320 }, { 5120, 3, 15968, 3, 5120 },
    };
    const model m = model_of(shapes[0]);

    for (const auto &one : known) {
        const uint32_t tile = fitting_tile(m, one.tile, one.pages, one.largest);

        assert_int_equal(tile, one.bytes);
        assert_int_equal(one.largest / tile, one.tiles);
    }
}

/* Whatever the sizes: the tile holds what it must, two fit, the pool is worth no less than with the
 * tiles that were asked for, and what a tile of `down` leaves unused is less than a segment. */
UNIT_TEST(test_all)
{
    for (const shape &one : shapes) {
        const model m = model_of(one);

        for (uint32_t tile = least_tile(m); tile <= 16384; tile += 128) {
            for (uint32_t pool = 2u * tile + tile / 50u; pool <= 57344; pool += 1000) {
                const uint32_t largest = pool - pool / 43u;
                const uint32_t bytes   = fitting_tile(m, tile, pool / tile, largest);
                model          laid    = m;

                if (largest < 2u * tile) {
                    continue;
                }
                (void)lay_out(laid, bytes);

                const matrix  &down = laid.of[OP_DOWN];
                const uint32_t unit = 2u * down.columns >> down.cut;

                if ((bytes < least_tile(m)) || (largest / bytes < 2u) ||
                    (largest / bytes * worth_of_tile(m, bytes) <
                     largest / tile * worth_of_tile(m, tile)) ||
                    ((down.each != MOST_SUMS) && (bytes - down.each * unit >= unit))) {
                    fail_msg("%s, a pool of %u, tiles of %u: %u tiles of %u, of which %u are used",
                             one.name, pool, tile, largest / bytes, bytes, down.each * unit);
                }
            }
        }
        if (m.of[OP_DOWN].columns == MOST_SEGMENTS * SEGMENT) {
            assert_int_equal(m.of[OP_DOWN].cut, 2);
        }
    }
}
