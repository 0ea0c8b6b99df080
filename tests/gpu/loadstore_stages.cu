/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/loadstore.cu's trials from global to shared memory. */
#include "tests/loadstore/gpu.cuh"
#include "tests/loadstore/paths.h"

namespace {

#define STAGE_SHAPES(_path) \
    shape<32, 1, uint8_t, _path>, shape<256, 16, uint8_t, _path>, shape<64, 3, blob<3, 1>, _path>, \
        shape<128, 4, uint32_t, _path>, shape<32, 32, uint16_t, _path>, \
        shape<512, 7, uint64_t, _path>, shape<32, 5, blob<24, 8>, _path>, \
        shape<64, 7, blob<12, 4>, _path>, shape<96, 9, blob<16, 16>, _path>, \
        shape<1024, 15, uint32_t, _path>, shape<32, 3, blob<32, 16>, _path, READ_ONLY>
#define OTHER_SHAPES \
    shape<64, 5, careful>, shape<64, 6, uint32_t, copy_path::automatic, ITERATOR>

template <template <typename> class Op> void every_path(const char *name, unsigned rounds)
{
    gpu_all<Op, STAGE_SHAPES(copy_path::automatic)>(name, rounds, 1);
    gpu_all<Op, OTHER_SHAPES>(name, rounds, 4);
}

} // namespace

void gpu_stages(unsigned rounds)
{
    every_path<op_global_to_shared>("global_to_shared", rounds);
    gpu_all<op_global_to_shared, STAGE_SHAPES(copy_path::vector)>("global_to_shared (vector)",
                                                                  rounds, 5);
    gpu_all<op_global_to_shared, STAGE_SHAPES(copy_path::elements)>("global_to_shared (elements)",
                                                                    rounds, 6);
    every_path<op_global_to_shared2>("global_to_shared2", rounds);
    every_path<op_global_to_shared_loop>("global_to_shared_loop", rounds);
    gpu_all<op_global_to_shared_loop, STAGE_SHAPES(copy_path::elements)>(
        "global_to_shared_loop (elements)", rounds, 7);
    every_path<op_global_to_shared_default>("global_to_shared_default", rounds);
    every_path<op_global_to_shared_default2>("global_to_shared_default2", rounds);
    every_path<op_global_to_shared_gate>("global_to_shared (gate)", rounds);
}
