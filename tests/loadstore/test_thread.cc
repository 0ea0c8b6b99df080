/* SPDX-License-Identifier: BSD-3-Clause */
/* loadstore.cuh on the block executor: thread order, every VT from 1 to 32. */
#include "cpu.h"
#include "paths.h"

#include <utility>

namespace {

/* One operation at VT 1 .. 32; on every other one a block has two warps. */
template <template <typename> class Op, typename T, copy_path Path, int... I>
unsigned every_vt(const char *name, unsigned few, std::integer_sequence<int, I...>)
{
    return check_all<Op, shape<32 * (1 + I % 2), I + 1, T, Path>...>(name, rounds(few), 11);
}
template <template <typename> class Op, typename T, copy_path Path = copy_path::automatic>
unsigned every_vt(const char *name, unsigned few)
{
    return every_vt<Op, T, Path>(name, few, std::make_integer_sequence<int, 32>());
}

#define SIZES(_path) \
    shape<64, 5, uint8_t, _path>, shape<32, 16, uint8_t, _path>, shape<64, 7, blob<3, 1>, _path>, \
        shape<32, 4, uint16_t, _path>, shape<64, 11, uint64_t, _path>, \
        shape<32, 6, blob<24, 8>, _path>, shape<64, 9, blob<12, 4>, _path>, \
        shape<32, 1, blob<12, 4>, _path>, shape<32, 9, blob<16, 16>, _path>, \
        shape<32, 2, blob<32, 16>, _path>, shape<32, 12, blob<6, 2>, _path>, \
        shape<32, 31, blob<5, 1>, _path>
#define OTHER_SHAPES \
    shape<32, 5, careful>, shape<64, 6, uint32_t, copy_path::automatic, ITERATOR>, \
        shape<64, 7, uint16_t, copy_path::automatic, READ_ONLY>, \
        shape<32, 8, uint32_t, copy_path::automatic, READ_ONLY>

template <template <typename> class Op> void thread_by_every_path(const char *name)
{
    unsigned failed = 0;

    failed += every_vt<Op, uint32_t>(name, 6);
    failed += every_vt<Op, uint32_t, copy_path::transpose>(name, 4);
    failed += check_all<Op, SIZES(copy_path::automatic)>(name, rounds(8));
    failed += check_all<Op, SIZES(copy_path::transpose)>(name, rounds(6), 2);
    failed += check_all<Op, SIZES(copy_path::vector)>(name, rounds(6), 3);
    failed += check_all<Op, SIZES(copy_path::elements)>(name, rounds(3), 4);
    failed += check_all<Op, OTHER_SHAPES>(name, rounds(6), 5);
    assert_int_equal(failed, 0);
}

UNIT_TEST(test_global_to_thread)
{
    thread_by_every_path<op_global_to_thread>("global_to_thread");
}
UNIT_TEST(test_global_to_thread_default)
{
    unsigned failed = 0;

    failed += check_all<op_global_to_thread_default, SIZES(copy_path::automatic)>(
        "global_to_thread_default", rounds(8));
    failed += check_all<op_global_to_thread_default, OTHER_SHAPES>("global_to_thread_default",
                                                                   rounds(6));
    assert_int_equal(failed, 0);
}
UNIT_TEST(test_thread_to_global)
{
    thread_by_every_path<op_thread_to_global>("thread_to_global");
}

template <template <typename> class Op> void shared_of_every_size(const char *name)
{
    unsigned failed = 0;

    failed += every_vt<Op, uint32_t>(name, 6);
    failed += check_all<Op, SIZES(copy_path::automatic)>(name, rounds(8));
    failed += check_all<Op, shape<32, 5, careful>>(name, rounds(6));
    assert_int_equal(failed, 0);
}
UNIT_TEST(test_thread_to_shared)
{
    shared_of_every_size<op_thread_to_shared>("thread_to_shared");
}
UNIT_TEST(test_shared_to_thread)
{
    shared_of_every_size<op_shared_to_thread>("shared_to_thread");
}
UNIT_TEST(test_half_smem_transpose)
{
    shared_of_every_size<op_half_smem_transpose>("half_smem_transpose");
}

} // namespace
