/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file shpool/launch.cuh
 * Launches of kernels that use a pool: with shared memory above 48 KiB, in clusters, linked at run
 * time.  Host calls; included by shpool/shpool.cuh.
 */
#ifndef SHPOOL_LAUNCH_CUH
#define SHPOOL_LAUNCH_CUH

#include <shpool/shpool.cuh>

/**
 * Allow a kernel to use this amount of dynamic shared memory on the current device.  CUDA requires
 * this above 48 KiB; calling it for less is harmless.
 *
 * Scope: host.
 * @param [in] kernel  a __global__ function
 * @param [in] bytes   dynamic shared memory of the launch: pool.shared_bytes and everything else
 * @return SHPOOL_OK; SHPOOL_ERR_TOO_LARGE: the device has less, after the kernel's static arrays;
 *         the detail says how much; SHPOOL_ERR_CUDA
 */
template <typename Kernel>
static inline shpool_status shpool_allow_shared(Kernel *kernel, size_t bytes)
{
    cudaFuncAttributes attributes;
    shpool_status      status;
    int                device = 0;
    int                most   = 0;

    status = shpool_cuda_status(cudaGetDevice(&device), "cudaGetDevice");
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaDeviceGetAttribute(
            &most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
    }
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaFuncGetAttributes(&attributes, (const void *)kernel),
                                    "cudaFuncGetAttributes");
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    if (bytes > (size_t)most - attributes.sharedSizeBytes) { /* the kernel's own were granted */
        return shpool_error(SHPOOL_ERR_TOO_LARGE,
                            "%zu bytes of dynamic shared memory were requested; device %d has %d "
                            "for a block, of which the kernel's own arrays take %zu: at most %zu",
                            bytes, device, most, attributes.sharedSizeBytes,
                            (size_t)most - attributes.sharedSizeBytes);
    }
    if (bytes + attributes.sharedSizeBytes <= 48u * 1024u) {
        return SHPOOL_OK; /* available to every kernel without opt-in, its static arrays included */
    }
    /* the device's maximum: a launch of this kernel with another pool may need more than this
     * one */
    return shpool_cuda_status(cudaFuncSetAttribute(
        (const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)((size_t)most - attributes.sharedSizeBytes)), "cudaFuncSetAttribute");
}

/**
 * Get the kernel to run with a pool: the one of this image, or its counterpart in the image that
 * shpool_open() linked with the pool's allocator.
 *
 * For CUDA's own calls, all of which accept either one: cudaFuncGetAttributes(), occupancy, graphs.
 *
 * Scope: host, any thread.
 * @param [in]  kernel    a __global__ function of this image
 * @param [in]  pool      open
 * @param [out] kernel_p  valid as long as this image is loaded; NULL on failure
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; SHPOOL_ERR_CUDA: the linked image has no
 *         such kernel; SHPOOL_ERR_BINDING: the pool's image was linked in another program or shared
 *         library of this process
 */
static inline shpool_status shpool_kernel_of(const void *kernel, const shpool_pool *pool,
                                             const void **kernel_p)
{
    if ((kernel == NULL) || (pool == NULL) || (kernel_p == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_kernel_of: %s is NULL",
                            (kernel == NULL) ? "kernel" : (pool == NULL) ? "pool" : "kernel_p");
    }
    *kernel_p = kernel;
#if !defined(SHPOOL_INLINE) && !defined(SHPOOL_LINKED)
    if (pool->library != NULL) {
        return shpool_image_kernel(pool, kernel, kernel_p);
    }
#endif
    return SHPOOL_OK;
}

/**
 * Compute how many blocks of a kernel with a pool can run on one multiprocessor of the current
 * device.
 *
 * Scope: host, any thread.
 * @param [in]  kernel    as for shpool_kernel_of()
 * @param [in]  pool      open
 * @param [in]  threads   threads of a block
 * @param [in]  bytes     dynamic shared memory apart from the pool's
 * @param [out] blocks_p  0 on failure
 * @return SHPOOL_OK; as shpool_kernel_of() and shpool_allow_shared(); SHPOOL_ERR_CUDA
 */
static inline shpool_status shpool_occupancy(const void *kernel, const shpool_pool *pool,
                                             unsigned threads, size_t bytes, int *blocks_p)
{
    const void   *own = NULL;
    shpool_status status;

    if (blocks_p == NULL) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_occupancy: blocks_p is NULL");
    }
    *blocks_p = 0;
    status    = shpool_kernel_of(kernel, pool, &own);
    if (status == SHPOOL_OK) {
        bytes += pool->shared_bytes;
        status = shpool_allow_shared(own, bytes);
    }
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            blocks_p, own, (int)threads, bytes), "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    }
    return status;
}

#if CUDART_VERSION >= 12000
/* SHPOOL_ERR_CUDA: the kernel uses too many registers for the block, whose number is not in CUDA's
 * message. */
static inline shpool_status shpool_check_threads(const void *kernel, dim3 block)
{
    const unsigned     threads = block.x * block.y * block.z;
    cudaFuncAttributes has     = {};
    shpool_status      status  = shpool_cuda_status(cudaFuncGetAttributes(&has, kernel),
                                                    "cudaFuncGetAttributes");

    if ((status == SHPOOL_OK) && (threads > (unsigned)has.maxThreadsPerBlock)) {
        return shpool_error(SHPOOL_ERR_CUDA, "a block of %u threads is too large for this kernel: "
                            "it uses %d registers a thread, enough for %d threads; compile it with "
                            "__launch_bounds__(%u)", threads, has.numRegs, has.maxThreadsPerBlock,
                            threads);
    }
    return status;
}

static inline shpool_status shpool_launch_status(cudaError_t error, const void *kernel, dim3 block)
{
    if (error == cudaErrorLaunchOutOfResources) {
        (void)cudaGetLastError();
        if (shpool_check_threads(kernel, block) != SHPOOL_OK) {
            return SHPOOL_ERR_CUDA;
        }
    }
    return shpool_cuda_status(error, "cudaLaunchKernelExC");
}

/* A launch that fails would end the capture, so what it needs is known before. */
static inline shpool_status shpool_launch_captured(const cudaLaunchConfig_t *config,
                                                   const void *kernel, void **arguments)
{
    shpool_status status = shpool_check_threads(kernel, config->blockDim);

    if (status == SHPOOL_OK) {
        status = shpool_allow_shared(kernel, config->dynamicSmemBytes);
    }
    return (status != SHPOOL_OK) ? status
        : shpool_launch_status(cudaLaunchKernelExC(config, kernel, arguments), kernel,
                               config->blockDim);
}

/* For the trace. */
static inline void shpool_note_registers(const void *kernel, const shpool_pool *pool)
{
    cudaFuncAttributes has = {};

    if (cudaFuncGetAttributes(&has, kernel) == cudaSuccess) {
        shpool_trace_registers(pool, (uint32_t)has.numRegs);
    } else {
        (void)cudaGetLastError(); /* the launch itself will fail, and say why */
    }
}

/**
 * Launch a kernel with a pool, like cudaLaunchKernelExC(): with any attributes (clusters,
 * cooperative) and any order of parameters.
 *
 * With an allocator of this image it is that call.  With a plugin's allocator, or one that is to be
 * inlined, the kernel of the linked image runs, with the same parameters and configuration.
 *
 * Scope: host, any thread; as any launch, asynchronous.
 * @param [in] config     dynamicSmemBytes: bytes that the kernel needs apart from the pool's, which
 *                        usually come first: the kernel decides where it puts the pool
 * @param [in] kernel     a __global__ function of this image
 * @param [in] arguments  pointers to the kernel's parameters, as for cudaLaunchKernel(); one of
 *                        them is the pool
 * @param [in] pool       open
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument; as shpool_kernel_of() and
 *         shpool_allow_shared(), which it calls if necessary; SHPOOL_ERR_CUDA; if the block needs
 *         too many registers, shpool_last_error() has their number; SHPOOL_ERR_CAPTURE: on the
 *         legacy stream, which would end the capture of a stream that is ordered with it
 */
static inline shpool_status shpool_launch_kernel(const cudaLaunchConfig_t *config,
                                                 const void *kernel, void **arguments,
                                                 const shpool_pool *pool)
{
    const void        *own = kernel;
    cudaLaunchConfig_t use;
    cudaError_t        error;
    shpool_status      status;
    int                captures;

    if ((config == NULL) || (kernel == NULL) || (arguments == NULL) || (pool == NULL)) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_launch_kernel: %s is NULL",
                            (config == NULL) ? "config" : (kernel == NULL) ? "kernel"
                            : (arguments == NULL) ? "arguments" : "pool");
    }
    if (pool->library != NULL) {
        status = shpool_kernel_of(kernel, pool, &own);
        if (status != SHPOOL_OK) {
            return status;
        }
    }
    if (pool->trace != NULL) {
        shpool_note_registers(own, pool);
    }
    use = *config;
    use.dynamicSmemBytes += pool->shared_bytes;
    status = shpool_cuda_captures(use.stream, &captures);
    if ((status != SHPOOL_OK) || captures) {
        return (status != SHPOOL_OK) ? status : shpool_launch_captured(&use, own, arguments);
    }
    error = cudaLaunchKernelExC(&use, own, arguments);
    if ((error != cudaErrorInvalidValue) && (error != cudaErrorCooperativeLaunchTooLarge)) {
        return shpool_launch_status(error, own, use.blockDim);
    }
    (void)cudaGetLastError();
    status = shpool_allow_shared(own, use.dynamicSmemBytes); /* the first time, above 48 KiB */
    return (status != SHPOOL_OK) ? status
        : shpool_launch_status(cudaLaunchKernelExC(&use, own, arguments), own, use.blockDim);
}

/* Type itself, in a context that prevents its deduction from a call's arguments. */
template <typename Type> struct shpool_parameter {
    typedef Type type;
};

/**
 * Launch a kernel whose first parameter is its pool:
 * kernel<<<grid, block, pool->shared_bytes, stream>>>(*pool, arguments...), with any allocator.
 *
 * Scope: host, any thread; as any launch, asynchronous.
 * @param [in] kernel     a __global__ function of this image
 * @param [in] pool       open; the launch has only the pool's shared memory (with
 *                        shpool_launch_kernel() it can have more)
 * @param [in] values     the kernel's other parameters, converted as in a function call: 0, NULL
 *                        and {1, 2} are accepted wherever the parameter's type accepts them
 * @return as shpool_launch_kernel()
 */
template <typename... Parameters>
static inline shpool_status shpool_launch(void (*kernel)(shpool_pool, Parameters...), dim3 grid,
                                          dim3 block, cudaStream_t stream, const shpool_pool *pool,
                                          typename shpool_parameter<Parameters>::type... values)
{
    void              *arguments[] = {(void *)pool, (void *)__builtin_addressof(values)...};
    cudaLaunchConfig_t config      = {};

    config.gridDim  = grid;
    config.blockDim = block;
    config.stream   = stream;
    return shpool_launch_kernel(&config, (const void *)kernel, arguments, pool);
}
#endif

#if CUDART_VERSION >= 12000
/**
 * Launch a kernel in clusters of blocks (sm_90 and up), like <<<grid, block, bytes, stream>>>, and
 * with the shared memory that it needs.
 *
 * For pools of scope cluster; cudaLaunchKernelEx() with a cluster dimension, or __cluster_dims__ at
 * the kernel, works as well.
 *
 * Scope: host; as any launch, asynchronous.
 * @param [in] kernel   a __global__ function
 * @param [in] grid     blocks, whole clusters
 * @param [in] cluster  blocks of a cluster, up to 8 in all on every GPU that has clusters, up to 16
 *                      on some; 1: an ordinary launch, on any GPU
 * @return SHPOOL_OK; as shpool_allow_shared(); SHPOOL_ERR_UNSUPPORTED: the current device has no
 *         clusters, or cannot hold one of this size at once; SHPOOL_ERR_CUDA, SHPOOL_ERR_CAPTURE,
 *         as shpool_launch_kernel()
 */
template <typename... Parameters, typename... Arguments>
static inline shpool_status shpool_launch_cluster(void (*kernel)(Parameters...), dim3 grid,
                                                  dim3 cluster, dim3 block, size_t bytes,
                                                  cudaStream_t stream, Arguments &&...arguments)
{
    const unsigned      blocks    = cluster.x * cluster.y * cluster.z;
    cudaLaunchConfig_t  config    = {};
    cudaLaunchAttribute attribute = {};
    int                 fit       = 0;
    uint32_t            major     = 0;
    int                 captures  = 0;
    shpool_status       status    = shpool_cuda_captures(stream, &captures);

    if (status == SHPOOL_OK) {
        status = shpool_allow_shared(kernel, bytes);
    }
    if ((status == SHPOOL_OK) && captures) {
        status = shpool_check_threads((const void *)kernel, block);
    }
    config.gridDim          = grid;
    config.blockDim         = block;
    config.dynamicSmemBytes = bytes;
    config.stream           = stream;
    if ((status == SHPOOL_OK) && (blocks > 1)) {
        status = shpool_device_get(cudaDevAttrComputeCapabilityMajor, "cudaDeviceGetAttribute",
                                   &major);
        if ((status == SHPOOL_OK) && (major < 9)) {
            return shpool_error(SHPOOL_ERR_UNSUPPORTED, "clusters of %u blocks need sm_90 or "
                                "newer, this GPU is older (sm_%u): launch with clusters of 1",
                                blocks, 10u * major);
        }
        attribute.id               = cudaLaunchAttributeClusterDimension;
        attribute.val.clusterDim.x = cluster.x;
        attribute.val.clusterDim.y = cluster.y;
        attribute.val.clusterDim.z = cluster.z;
        config.attrs               = &attribute;
        config.numAttrs            = 1;
        if ((status == SHPOOL_OK) && (blocks > 8)) {
            status = shpool_cuda_status(cudaFuncSetAttribute(
                (const void *)kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                "cudaFuncSetAttribute");
        }
        if (status == SHPOOL_OK) {
            status = shpool_cuda_status(cudaOccupancyMaxActiveClusters(&fit, kernel, &config),
                                        "cudaOccupancyMaxActiveClusters");
        }
        if ((status == SHPOOL_OK) && (fit == 0)) {
            return shpool_error(SHPOOL_ERR_UNSUPPORTED, "this GPU cannot hold a cluster of %u "
                                "blocks of %u threads and %zu bytes: launch with fewer of them",
                                blocks, block.x * block.y * block.z, bytes);
        }
    }
    if (status != SHPOOL_OK) {
        return status;
    }
    return shpool_cuda_status(cudaLaunchKernelEx(&config, kernel,
                                                 static_cast<Arguments &&>(arguments)...),
                              "cudaLaunchKernelEx");
}
#endif

#if CUDART_VERSION >= 12080
/**
 * Link a kernel that was compiled with SHPOOL_LINKED with a pool's allocator, for the current
 * device, and load the result: shpool_link(), then cudaLibraryLoadData().
 *
 * Find its kernels with cudaLibraryGetKernel(), and launch them with that pool or another one of
 * the same allocator.  They are not opted in to shared memory: pass the cudaKernel_t to
 * shpool_allow_shared().  With CUDA before 12.8, or the driver API, load the cubin from
 * shpool_link().
 *
 * Scope: host, any thread; blocks while nvJitLink runs.
 * @param [in]  kernel     LTO-IR, fat binary or relocatable object, as for shpool_link(); not
 *                         retained
 * @param [in]  bytes      its size
 * @param [in]  pool       from shpool_open(), on the current device
 * @param [out] library_p  call cudaLibraryUnload() when none of its kernels is running any more;
 *                         NULL on failure
 * @return SHPOOL_OK; SHPOOL_ERR_INVALID: a NULL argument, a zeroed pool; as shpool_link();
 *         SHPOOL_ERR_CUDA, SHPOOL_ERR_NO_MEMORY: there is no device, or it cannot load the cubin
 */
static inline shpool_status shpool_link_library(const void *kernel, size_t bytes,
                                                const shpool_pool *pool, cudaLibrary_t *library_p)
{
    char          spec[SHPOOL_NAME_BYTES + 24]; /* any spill option: the code is the same */
    shpool_status status;
    uint32_t      major = 0;
    uint32_t      minor = 0;
    size_t        cubin_bytes = 0;
    void         *cubin = NULL;

    if (library_p != NULL) {
        *library_p = NULL;
    }
    if ((library_p == NULL) || (pool == NULL) || (pool->name[0] == '\0')) {
        return shpool_error(SHPOOL_ERR_INVALID, "shpool_link_library: %s",
                            (library_p == NULL) ? "library_p is NULL"
                                                : "the pool is NULL, or was not opened");
    }
    status = shpool_device_get(cudaDevAttrComputeCapabilityMajor, "cudaDeviceGetAttribute", &major);
    if (status == SHPOOL_OK) {
        status = shpool_device_get(cudaDevAttrComputeCapabilityMinor, "cudaDeviceGetAttribute",
                                   &minor);
    }
    if (status == SHPOOL_OK) {
        (void)snprintf(spec, sizeof(spec), "%s%s", pool->name,
                       ((pool->flags & SHPOOL_FLAG_SPILL) != 0) ? ":spill=arena+native" : "");
        status = shpool_link(kernel, bytes, spec, major * 10 + minor, &cubin, &cubin_bytes);
    }
    if (status == SHPOOL_OK) {
        status = shpool_cuda_status(cudaLibraryLoadData(library_p, cubin, NULL, NULL, 0, NULL, NULL,
                                                        0), "cudaLibraryLoadData");
        free(cubin); /* the driver has its own copy */
    }
    if (status != SHPOOL_OK) {
        *library_p = NULL;
    }
    return status;
}
#endif /* CUDART_VERSION */

#endif /* SHPOOL_LAUNCH_CUH */
