# The runtime of programs that shpool-check builds.  Never instrumented: it defines what the
# instrumentation calls.
lib_LIBRARIES = libshpool_check.a
libshpool_check_a_SOURCES = \
	check/access.c \
	check/async.c \
	check/check.h \
	check/counts.c \
	check/launch.c \
	check/memory.c \
	check/order.c \
	check/quick.c \
	check/report.c \
	check/shadow.c
libshpool_check_a_CFLAGS = $(AM_CFLAGS) $(SHPOOL_NO_TSAN_CFLAGS)
shpoolcheckdir = $(includedir)/shpool/check
shpoolcheck_HEADERS = \
	include/shpool/check/allocator.cuh \
	include/shpool/check/cooperative_groups.h \
	include/shpool/check/cuComplex.h \
	include/shpool/check/cuda.h \
	include/shpool/check/cuda_bf16.h \
	include/shpool/check/cuda_fp16.h \
	include/shpool/check/cuda_pipeline.h \
	include/shpool/check/cuda_pipeline_primitives.h \
	include/shpool/check/cuda_runtime.h \
	include/shpool/check/cuda_runtime_api.h \
	include/shpool/check/device_functions.h \
	include/shpool/check/device_launch_parameters.h \
	include/shpool/check/math_functions.h \
	include/shpool/check/mgpudevice.cuh \
	include/shpool/check/omp.h \
	include/shpool/check/pool.cuh \
	include/shpool/check/poolAlloc.cuh \
	include/shpool/check/poolAllocBST.cuh \
	include/shpool/check/shpool_check.h \
	include/shpool/check/shpool_check_compat.h \
	include/shpool/check/shpool_check_device.h \
	include/shpool/check/shpool_check_half.h \
	include/shpool/check/sm_60_atomic_functions.h \
	include/shpool/check/vector_functions.h \
	include/shpool/check/vector_types.h
shpoolcheckgroupsdir = $(includedir)/shpool/check/cooperative_groups
shpoolcheckgroups_HEADERS = \
	include/shpool/check/cooperative_groups/memcpy_async.h \
	include/shpool/check/cooperative_groups/reduce.h
shpoolcheckcudadir = $(includedir)/shpool/check/cuda
shpoolcheckcuda_HEADERS = \
	include/shpool/check/cuda/atomic \
	include/shpool/check/cuda/barrier \
	include/shpool/check/cuda/pipeline \
	include/shpool/check/cuda/shpool_check_copy.h
shpoolcheckstddir = $(includedir)/shpool/check/cuda/std
shpoolcheckstd_HEADERS = \
	include/shpool/check/cuda/std/array \
	include/shpool/check/cuda/std/atomic \
	include/shpool/check/cuda/std/barrier \
	include/shpool/check/cuda/std/cmath \
	include/shpool/check/cuda/std/cstddef \
	include/shpool/check/cuda/std/cstdint \
	include/shpool/check/cuda/std/functional \
	include/shpool/check/cuda/std/limits \
	include/shpool/check/cuda/std/tuple \
	include/shpool/check/cuda/std/type_traits \
	include/shpool/check/cuda/std/utility
