/* SPDX-License-Identifier: BSD-3-Clause */
/* loadstore.cuh on the block executor: registers in strided order, gather, scatter, merge. */
#include "cpu.h"
#include "ops.h"

namespace {

#define STRIDED_SHAPES \
    shape<32, 1, uint8_t>, shape<64, 3, blob<3, 1>>, shape<96, 4, uint32_t>, \
        shape<32, 32, uint16_t>, shape<128, 7, uint64_t>, shape<64, 8, blob<24, 8>>, \
        shape<32, 5, careful>, shape<32, 2, blob<32, 16>>, \
        shape<64, 6, uint32_t, copy_path::automatic, ITERATOR>, \
        shape<32, 3, blob<12, 4>, copy_path::automatic, READ_ONLY>

#define STRIDED_TEST(_op) \
    UNIT_TEST(test_##_op) \
    { \
        const unsigned failed = check_all<op_##_op, STRIDED_SHAPES>(#_op, rounds(12)); \
        assert_int_equal(failed, 0); \
    }
STRIDED_TEST(shared_to_reg)
STRIDED_TEST(shared_to_reg_counted)
STRIDED_TEST(global_to_reg)
STRIDED_TEST(global_to_reg_pred)
STRIDED_TEST(global_to_reg2)
STRIDED_TEST(global_to_reg_default)
STRIDED_TEST(global_to_reg_default2)
STRIDED_TEST(global_to_reg_loop)
STRIDED_TEST(reg_to_shared)
STRIDED_TEST(reg_to_global)
STRIDED_TEST(gather)
STRIDED_TEST(gather_default)
STRIDED_TEST(scatter)
STRIDED_TEST(gather_global_to_global)
STRIDED_TEST(load2_to_reg)
STRIDED_TEST(load2_to_shared)
STRIDED_TEST(transfer_merge_reg)
STRIDED_TEST(transfer_merge_shared)

} // namespace
