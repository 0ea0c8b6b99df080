/* SPDX-License-Identifier: BSD-3-Clause */
/* loadstore.cuh on the block executor: operations with several paths, by each of them. */
#include "cpu.h"
#include "paths.h"

namespace {

/* Element sizes from 1 to 32 bytes, tiles that are a multiple of 16 bytes a thread and not. */
#define COPY_SHAPES(_path) \
    shape<32, 1, uint8_t, _path>, shape<64, 16, uint8_t, _path>, shape<64, 3, blob<3, 1>, _path>, \
        shape<96, 4, uint32_t, _path>, shape<32, 32, uint16_t, _path>, \
        shape<64, 7, uint64_t, _path>, shape<32, 5, blob<24, 8>, _path>, \
        shape<32, 7, blob<12, 4>, _path>, shape<32, 9, blob<16, 16>, _path>, \
        shape<32, 3, blob<32, 16>, _path, READ_ONLY>
#define OTHER_SHAPES(_path) \
    shape<32, 5, careful, _path>, shape<64, 6, uint32_t, _path, ITERATOR>

template <template <typename> class Op> void copy_by_every_path(const char *name)
{
    unsigned failed = 0;

    failed += check_all<Op, COPY_SHAPES(copy_path::automatic)>(name, rounds(10));
    failed += check_all<Op, COPY_SHAPES(copy_path::vector)>(name, rounds(6), 2);
    failed += check_all<Op, COPY_SHAPES(copy_path::elements)>(name, rounds(3), 3);
    failed += check_all<Op, OTHER_SHAPES(copy_path::automatic)>(name, rounds(4), 4);
    failed += check_all<Op, OTHER_SHAPES(copy_path::elements)>(name, rounds(4), 5);
    assert_int_equal(failed, 0);
}

template <template <typename> class Op> void stage_by_every_path(const char *name)
{
    copy_by_every_path<Op>(name);
    assert_int_equal((check_all<Op, COPY_SHAPES(copy_path::async)>(name, rounds(6), 6)), 0);
}

UNIT_TEST(test_mem_to_mem4)
{
    unsigned failed = 0;

    failed += check_all<op_mem_to_mem4, COPY_SHAPES(copy_path::automatic)>("mem_to_mem4",
                                                                           rounds(6));
    failed += check_all<op_mem_to_mem4, OTHER_SHAPES(copy_path::automatic)>("mem_to_mem4",
                                                                            rounds(6));
    assert_int_equal(failed, 0);
}
UNIT_TEST(test_mem_to_mem_loop)
{
    copy_by_every_path<op_mem_to_mem_loop>("mem_to_mem_loop");
}
UNIT_TEST(test_global_to_global)
{
    copy_by_every_path<op_global_to_global>("global_to_global");
}
UNIT_TEST(test_shared_to_global)
{
    copy_by_every_path<op_shared_to_global>("shared_to_global");
    assert_int_equal((check_all<op_shared_to_global, COPY_SHAPES(copy_path::bulk)>(
                         "shared_to_global", rounds(6), 7)), 0);
}
UNIT_TEST(test_global_to_shared)
{
    stage_by_every_path<op_global_to_shared>("global_to_shared");
}
UNIT_TEST(test_global_to_shared2)
{
    stage_by_every_path<op_global_to_shared2>("global_to_shared2");
}
UNIT_TEST(test_global_to_shared_loop)
{
    stage_by_every_path<op_global_to_shared_loop>("global_to_shared_loop");
}
UNIT_TEST(test_global_to_shared_default)
{
    stage_by_every_path<op_global_to_shared_default>("global_to_shared_default");
}
UNIT_TEST(test_global_to_shared_default2)
{
    stage_by_every_path<op_global_to_shared_default2>("global_to_shared_default2");
}
UNIT_TEST(test_global_to_shared_gate)
{
    unsigned failed = 0;

    failed += check_all<op_global_to_shared_gate, COPY_SHAPES(copy_path::automatic)>(
        "global_to_shared (gate)", rounds(10));
    failed += check_all<op_global_to_shared_gate, OTHER_SHAPES(copy_path::automatic)>(
        "global_to_shared (gate)", rounds(6));
    assert_int_equal(failed, 0);
}

} // namespace
