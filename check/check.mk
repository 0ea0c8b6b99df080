# The runtime of programs that shpool-check builds.  Never instrumented: it defines what the
# instrumentation calls.
lib_LIBRARIES = libshpool_check.a
libshpool_check_a_SOURCES = \
	check/access.c \
	check/check.h \
	check/launch.c \
	check/memory.c \
	check/order.c \
	check/report.c \
	check/shadow.c
libshpool_check_a_CFLAGS = $(AM_CFLAGS) $(SHPOOL_NO_TSAN_CFLAGS)
shpoolcheckdir = $(includedir)/shpool/check
shpoolcheck_HEADERS = \
	include/shpool/check/cuComplex.h \
	include/shpool/check/cuda.h \
	include/shpool/check/cuda_bf16.h \
	include/shpool/check/cuda_fp16.h \
	include/shpool/check/cuda_runtime.h \
	include/shpool/check/cuda_runtime_api.h \
	include/shpool/check/device_functions.h \
	include/shpool/check/device_launch_parameters.h \
	include/shpool/check/math_functions.h \
	include/shpool/check/pool.cuh \
	include/shpool/check/shpool_check.h \
	include/shpool/check/shpool_check_device.h \
	include/shpool/check/shpool_check_half.h \
	include/shpool/check/sm_60_atomic_functions.h \
	include/shpool/check/vector_functions.h \
	include/shpool/check/vector_types.h
