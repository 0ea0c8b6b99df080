/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/loadstore.cu's trials in thread order. */
#include <utility>

#include "tests/loadstore/gpu.cuh"
#include "tests/loadstore/paths.h"

namespace {

template <template <typename> class Op, typename T, int... I>
void every_vt(const char *name, unsigned rounds, std::integer_sequence<int, I...>)
{
    gpu_all<Op, shape<32 * (1 + I % 4), I + 1, T>...>(name, rounds, 11);
}
#define EVERY_VT std::make_integer_sequence<int, 32>()

#define SIZES(_path) \
    shape<64, 5, uint8_t, _path>, shape<256, 16, uint8_t, _path>, shape<64, 7, blob<3, 1>, _path>, \
        shape<32, 4, uint16_t, _path>, shape<512, 11, uint64_t, _path>, \
        shape<32, 6, blob<24, 8>, _path>, shape<64, 9, blob<12, 4>, _path>, \
        shape<32, 1, blob<12, 4>, _path>, shape<32, 9, blob<16, 16>, _path>, \
        shape<32, 2, blob<32, 16>, _path>, shape<32, 12, blob<6, 2>, _path>, \
        shape<32, 31, blob<5, 1>, _path>, shape<1024, 7, uint32_t, _path>
#define OTHER_SHAPES \
    shape<32, 5, careful>, shape<64, 6, uint32_t, copy_path::automatic, ITERATOR>, \
        shape<64, 7, uint16_t, copy_path::automatic, READ_ONLY>, \
        shape<32, 8, uint32_t, copy_path::automatic, READ_ONLY>

} // namespace

void gpu_threads(unsigned rounds)
{
    every_vt<op_global_to_thread, uint32_t>("global_to_thread", rounds, EVERY_VT);
    every_vt<op_thread_to_global, uint32_t>("thread_to_global", rounds, EVERY_VT);
    every_vt<op_thread_to_shared, uint32_t>("thread_to_shared", rounds, EVERY_VT);
    every_vt<op_shared_to_thread, uint32_t>("shared_to_thread", rounds, EVERY_VT);
    every_vt<op_half_smem_transpose, uint32_t>("half_smem_transpose", rounds, EVERY_VT);
    gpu_all<op_global_to_thread, SIZES(copy_path::automatic)>("global_to_thread", rounds, 1);
    gpu_all<op_global_to_thread, SIZES(copy_path::transpose)>("global_to_thread (transpose)",
                                                              rounds, 2);
    gpu_all<op_global_to_thread, SIZES(copy_path::vector)>("global_to_thread (vector)", rounds, 3);
    gpu_all<op_global_to_thread, SIZES(copy_path::elements)>("global_to_thread (elements)", rounds,
                                                             4);
    gpu_all<op_global_to_thread, OTHER_SHAPES>("global_to_thread", rounds, 5);
    gpu_all<op_global_to_thread_default, SIZES(copy_path::automatic)>("global_to_thread_default",
                                                                      rounds, 6);
    gpu_all<op_thread_to_global, SIZES(copy_path::automatic)>("thread_to_global", rounds, 7);
    gpu_all<op_thread_to_global, SIZES(copy_path::transpose)>("thread_to_global (transpose)",
                                                              rounds, 8);
    gpu_all<op_thread_to_global, SIZES(copy_path::vector)>("thread_to_global (vector)", rounds, 9);
    gpu_all<op_thread_to_global, OTHER_SHAPES>("thread_to_global", rounds, 10);
    gpu_all<op_thread_to_shared, SIZES(copy_path::automatic)>("thread_to_shared", rounds, 11);
    gpu_all<op_shared_to_thread, SIZES(copy_path::automatic)>("shared_to_thread", rounds, 12);
    gpu_all<op_half_smem_transpose, SIZES(copy_path::automatic)>("half_smem_transpose", rounds, 13);
}
