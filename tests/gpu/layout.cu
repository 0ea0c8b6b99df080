/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocked layout of records on a GPU: the launches of layout.cuh and its block functions in a
 * kernel of the test's own, against the formula; bad input; arrays beyond 2^31 elements.
 *
 * Exit code 0: all passed, 1: something failed, 77: no device.  Argument: rounds a type [60].
 */
#include <shpool/layout.cuh>

#include "check.h"
#include "tests/loadstore/layout_trial.h"

namespace
{

/* Device memory with poison on either side; it is compared with a host copy. */
class device_array
{
public:
    device_array(std::size_t bytes, std::size_t skew) : bytes_(bytes), skew_(skew)
    {
        (void)gpu_cuda(cudaMalloc(&base_, bytes + 2 * GUARD + skew), "cudaMalloc");
        (void)gpu_cuda(cudaMemset(base_, POISON, bytes + 2 * GUARD + skew), "cudaMemset");
    }
    ~device_array()
    {
        (void)gpu_cuda(cudaFree(base_), "cudaFree");
    }
    device_array(const device_array &)            = delete;
    device_array &operator=(const device_array &) = delete;
    template <typename T> T *as() const
    {
        return reinterpret_cast<T *>(base_ + GUARD + skew_);
    }
    void write(const void *from)
    {
        (void)gpu_cuda(cudaMemcpy(as<void *>(), from, bytes_, cudaMemcpyHostToDevice), "write");
    }
    /* The array is `expected`, and nothing around it has changed. */
    bool is(const void *expected) const
    {
        std::vector<unsigned char> all(bytes_ + 2 * GUARD + skew_);
        bool                       intact = gpu_cuda(
            cudaMemcpy(all.data(), base_, all.size(), cudaMemcpyDeviceToHost), "read");

        for (std::size_t i = 0; i < all.size(); i++) {
            const bool inside = (i >= GUARD + skew_) && (i < GUARD + skew_ + bytes_);

            intact = intact && (inside || (all[i] == POISON));
        }
        return intact && (std::memcmp(&all[GUARD + skew_], expected, bytes_) == 0);
    }

private:
    std::size_t    bytes_;
    std::size_t    skew_;
    unsigned char *base_ = nullptr;
};

/* A user's kernel: any number of threads, a dynamic stage of any size. */
template <typename T>
__global__ void own_kernel(shpool::layout_plan plan, const T *from, T *to, bool unpack)
{
    extern __shared__ __align__(16) unsigned char stage[];

    for (unsigned long long tile = blockIdx.x; tile < plan.tiles; tile += gridDim.x) {
        if (unpack) {
            shpool::layout_unpack_tile(plan, tile, from, to, stage);
        } else {
            shpool::layout_pack_tile(plan, tile, from, to, stage);
        }
        __syncthreads();
    }
}

template <typename T>
void move(const shape &s, draw &random, bool own, bool unpack, const T *from, T *to)
{
    if (!own) {
        const shpool_status status = unpack ? shpool::layout_unpack(from, s.n, s.m, s.bd, to, 0)
                                            : shpool::layout_pack(from, s.n, s.m, s.bd, to, 0);

        (void)gpu_check(status == SHPOOL_OK, "launch: %s", shpool_last_error());
    } else {
        const uint32_t      bytes = static_cast<uint32_t>(1024 + random(46 * 1024));
        const unsigned      grid  = static_cast<unsigned>(1 + random(40));
        const unsigned      block = static_cast<unsigned>(1 + random(512));
        shpool::layout_plan plan;

        (void)gpu_check(shpool::layout_plan_of<T>(s.n, s.m, s.bd, bytes, &plan) == SHPOOL_OK,
                        "no plan for a stage of %u B", bytes);
        own_kernel<T><<<grid, block, plan.stage_bytes>>>(plan, from, to, unpack);
    }
    gpu_wait(own ? "own kernel" : "layout kernel");
}

template <typename T> void test_shapes(int rounds)
{
    draw random = {sizeof(T)};

    for (int round = 0; round < rounds; round++) {
        const shape  s     = any_shape(random, (round % 20 == 19) ? 4000000 : 60000);
        const bool   own   = round % 2 != 0;
        const size_t bytes = s.n * s.m * sizeof(T);
        const size_t total = shpool_layout_elements(s.n, s.m, s.bd) * sizeof(T);
        std::vector<unsigned char> records(bytes);
        device_array in(bytes, random(4) * sizeof(T));
        device_array blocked(total, random(4) * sizeof(T));
        device_array back(bytes, random(4) * sizeof(T));

        fill_records(records.data(), s, sizeof(T));
        auto expected = blocked_of(records.data(), s, sizeof(T));
        in.write(records.data());
        move<T>(s, random, own, false, in.as<T>(), blocked.as<T>());
        (void)gpu_check(blocked.is(expected.data()), "pack: %u-byte words, n %llu, m %u, bd %u",
                        (unsigned)sizeof(T), s.n, s.m, s.bd);
        for (size_t at = 0; at < total / sizeof(T); at++) { /* the padding must not matter */
            if (shpool_layout_record(at, s.m, s.bd) >= s.n) {
                std::memset(&expected[at * sizeof(T)], 0x5c, sizeof(T));
            }
        }
        blocked.write(expected.data());
        move<T>(s, random, own, true, blocked.as<T>(), back.as<T>());
        (void)gpu_check(back.is(records.data()), "unpack: %u-byte words, n %llu, m %u, bd %u",
                        (unsigned)sizeof(T), s.n, s.m, s.bd);
        (void)gpu_check(in.is(records.data()) && blocked.is(expected.data()),
                        "what is only read was written");
    }
}

/* ---- larger than 32 bits ---- */

__device__ uint8_t mixed(unsigned long long record, uint32_t element)
{
    return static_cast<uint8_t>((record * 0x9E3779B97F4A7C15ull + element * 77u) >> 23);
}

__global__ void fill_large(uint8_t *records, unsigned long long n, uint32_t m)
{
    const unsigned long long step = 1ull * gridDim.x * blockDim.x;

    for (unsigned long long at = 1ull * blockIdx.x * blockDim.x + threadIdx.x; at < n * m;
         at += step) {
        records[at] = mixed(at / m, static_cast<uint32_t>(at % m));
    }
}

/* By the maps back and forth; tests/loadstore/test_layout.cc has those against the formula. */
__global__ void check_large(const uint8_t *blocked, unsigned long long n, uint32_t m, uint32_t bd,
                            unsigned long long *wrong)
{
    const unsigned long long step  = 1ull * gridDim.x * blockDim.x;
    const unsigned long long total = shpool_layout_elements(n, m, bd);

    for (unsigned long long at = 1ull * blockIdx.x * blockDim.x + threadIdx.x; at < total;
         at += step) {
        const unsigned long long record  = shpool_layout_record(at, m, bd);
        const uint32_t           element = shpool_layout_element(at, m, bd);

        if ((blocked[at] != ((record < n) ? mixed(record, element) : 0)) ||
            (shpool_layout_index(record, element, m, bd) != at)) {
            atomicAdd(wrong, 1ull);
        }
    }
}

__global__ void check_equal(const uint8_t *a, const uint8_t *b, unsigned long long count,
                            unsigned long long *wrong)
{
    const unsigned long long step = 1ull * gridDim.x * blockDim.x;

    for (unsigned long long at = 1ull * blockIdx.x * blockDim.x + threadIdx.x; at < count;
         at += step) {
        if (a[at] != b[at]) {
            atomicAdd(wrong, 1ull);
        }
    }
}

void test_large(unsigned long long n, uint32_t m, uint32_t bd)
{
    const unsigned long long bytes    = shpool_layout_elements(n, m, bd);
    uint8_t                 *array[3] = {nullptr, nullptr, nullptr};
    unsigned long long      *device   = nullptr;
    unsigned long long       wrong[2] = {1, 1};
    size_t                   unused   = 0;
    size_t                   total    = 0;

    (void)gpu_cuda(cudaMemGetInfo(&unused, &total), "cudaMemGetInfo");
    if (unused / 4 < bytes) {
        std::printf("note: %llu B three times is more than this GPU has free\n", bytes);
        return;
    }
    for (uint8_t *&a : array) {
        (void)gpu_cuda(cudaMalloc(&a, bytes), "cudaMalloc");
        (void)gpu_cuda(cudaMemset(a, POISON, bytes), "cudaMemset");
    }
    (void)gpu_cuda(cudaMalloc(&device, sizeof(wrong)), "cudaMalloc");
    (void)gpu_cuda(cudaMemset(device, 0, sizeof(wrong)), "cudaMemset");
    fill_large<<<2048, 256>>>(array[0], n, m);
    (void)gpu_check(shpool::layout_pack(array[0], n, m, bd, array[1], 0) == SHPOOL_OK, "pack: %s",
                    shpool_last_error());
    check_large<<<2048, 256>>>(array[1], n, m, bd, device);
    (void)gpu_check(shpool::layout_unpack(array[1], n, m, bd, array[2], 0) == SHPOOL_OK,
                    "unpack: %s", shpool_last_error());
    check_equal<<<2048, 256>>>(array[0], array[2], n * m, device + 1);
    gpu_wait("large arrays");
    (void)gpu_cuda(cudaMemcpy(wrong, device, sizeof(wrong), cudaMemcpyDeviceToHost), "counts");
    (void)gpu_check((wrong[0] == 0) && (wrong[1] == 0),
                    "n %llu, m %u, bd %u: %llu elements wrong packed, %llu unpacked", n, m, bd,
                    wrong[0], wrong[1]);
    for (uint8_t *a : array) {
        (void)gpu_cuda(cudaFree(a), "cudaFree");
    }
    (void)gpu_cuda(cudaFree(device), "cudaFree");
}

/* ---- bad input ---- */

void expect_refused(const float *from, unsigned long long n, uint32_t m, uint32_t bd, float *to,
                    shpool_status status, const char *word)
{
    (void)gpu_check((shpool::layout_pack(from, n, m, bd, to, 0) == status) &&
                        (shpool::layout_unpack(from, n, m, bd, to, 0) == status) &&
                        (std::strstr(shpool_last_error(), word) != nullptr),
                    "n %llu, m %u, bd %u is not refused with \"%s\" but \"%s\"", n, m, bd, word,
                    shpool_last_error());
}

void test_errors(void)
{
    const unsigned char none[256] = {};
    device_array        from(256, 0);
    device_array        to(0, 0);
    float              *odd = reinterpret_cast<float *>(to.as<char>() + 2);

    from.write(none);
    expect_refused(from.as<float>(), 5, 0, 32, to.as<float>(), SHPOOL_ERR_INVALID, "m is 0");
    expect_refused(from.as<float>(), 5, 3, 0, to.as<float>(), SHPOOL_ERR_INVALID, "bd is 0");
    expect_refused(from.as<float>(), 5, 3, 40, to.as<float>(), SHPOOL_ERR_INVALID, "bd is 40");
    expect_refused(from.as<float>(), ~0ull, 3, 32, to.as<float>(), SHPOOL_ERR_TOO_LARGE,
                   "address");
    expect_refused(nullptr, 5, 3, 32, to.as<float>(), SHPOOL_ERR_INVALID, "read is NULL");
    expect_refused(from.as<float>(), 5, 3, 32, nullptr, SHPOOL_ERR_INVALID, "write is NULL");
    expect_refused(from.as<float>(), 5, 3, 32, odd, SHPOOL_ERR_ALIGNMENT, "aligned");
    expect_refused(odd, 5, 3, 32, to.as<float>(), SHPOOL_ERR_ALIGNMENT, "aligned");
    (void)gpu_check(shpool::layout_pack<float>(nullptr, 0, 3, 32, nullptr, 0) == SHPOOL_OK,
                    "no records: %s", shpool_last_error());
    gpu_wait("nothing");
    (void)gpu_check(from.is(none) && to.is(none), "a refused call wrote something");
}

} // namespace

int main(int argc, char **argv)
{
    const int rounds = (argc > 1) ? std::atoi(argv[1]) : 60;

    gpu_need_device();
    test_errors();
    test_shapes<uint8_t>(rounds);
    test_shapes<uint16_t>(rounds);
    test_shapes<float>(rounds);
    test_shapes<double>(rounds);
    test_shapes<element16>(rounds);
    test_large(1500000007ull, 3, 256); /* 4.5 GB: indexes and offsets beyond 2^32 */
    test_large(6000011ull, 777, 96);   /* of records that no tile holds whole */
    return gpu_summary();
}
