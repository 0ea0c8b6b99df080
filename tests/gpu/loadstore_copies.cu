/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu/loadstore.cu's trials from memory to memory. */
#include "tests/loadstore/gpu.cuh"
#include "tests/loadstore/paths.h"

namespace {

#define COPY_SHAPES(_path) \
    shape<32, 1, uint8_t, _path>, shape<256, 16, uint8_t, _path>, shape<64, 3, blob<3, 1>, _path>, \
        shape<128, 4, uint32_t, _path>, shape<32, 32, uint16_t, _path>, \
        shape<512, 7, uint64_t, _path>, shape<32, 5, blob<24, 8>, _path>, \
        shape<64, 7, blob<12, 4>, _path>, shape<96, 9, blob<16, 16>, _path>, \
        shape<1024, 15, uint32_t, _path>, shape<32, 3, blob<32, 16>, _path, READ_ONLY>, \
        shape<256, 11, uint32_t, _path, READ_ONLY>
#define OTHER_SHAPES(_path) \
    shape<64, 5, careful, _path>, shape<64, 6, uint32_t, _path, ITERATOR>

template <template <typename> class Op> void every_path(const char *name, unsigned rounds)
{
    gpu_all<Op, COPY_SHAPES(copy_path::automatic)>(name, rounds, 1);
    gpu_all<Op, COPY_SHAPES(copy_path::vector)>(name, rounds, 2);
    gpu_all<Op, COPY_SHAPES(copy_path::elements)>(name, rounds, 3);
    gpu_all<Op, OTHER_SHAPES(copy_path::automatic)>(name, rounds, 4);
}

} // namespace

void gpu_copies(unsigned rounds)
{
    gpu_all<op_mem_to_mem4, COPY_SHAPES(copy_path::automatic)>("mem_to_mem4", rounds, 5);
    every_path<op_mem_to_mem_loop>("mem_to_mem_loop", rounds);
    every_path<op_global_to_global>("global_to_global", rounds);
    every_path<op_shared_to_global>("shared_to_global", rounds);
    gpu_all<op_shared_to_global, COPY_SHAPES(copy_path::bulk)>("shared_to_global (bulk)", rounds,
                                                               6);
}
