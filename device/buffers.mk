# Arrays: in host memory, and buffers in device memory.
shpooldevice_HEADERS += \
	include/shpool/device/array.h
libshpool_core_la_SOURCES += \
	device/buffer.c \
	device/buffer.h \
	device/elements.c \
	device/elements.h \
	device/fill.c \
	device/fill_kernels.h \
	device/hooks.c \
	device/kernels.c \
	device/kernels.h \
	device/print.c \
	device/random.c \
	device/sort.c
libshpool_la_LIBADD += $(LIBM)

# The kernels as a fat binary inside libshpool.so; without nvcc the host fills.
EXTRA_DIST += device/kernels.cu
if HAVE_NVCC
nodist_libshpool_core_la_SOURCES += device/kernels_image.c
endif
AM_V_FATBIN    = $(am__v_FATBIN_@AM_V@)
am__v_FATBIN_  = $(am__v_FATBIN_@AM_DEFAULT_V@)
am__v_FATBIN_0 = @echo "  FATBIN  " $@;
am__v_FATBIN_1 =
device/kernels_image.c: device/kernels.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_FATBIN)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_GENCODE) $(SHPOOL_NVCC_COMMON) \
	  -fatbin -MMD -MP -MT $@ -MF device/kernels_image.cud -o device/kernels.fatbin \
	  $(top_srcdir)/device/kernels.cu
	$(AM_V_at)$(SHELL) $(top_srcdir)/build-aux/embed.sh device/kernels.fatbin \
	  shpool_kernels_image $(SHPOOL_CUDA_VERSION) $(SHPOOL_LTO_ARCH) >$@-t && mv -f $@-t $@
MOSTLYCLEANFILES = device/kernels_image.c device/kernels.fatbin

# MGPU's contexts and memory, under MGPU's names.
shpoolcompat_HEADERS += include/shpool/compat/moderngpu.cuh
shpoolcompatutildir = $(includedir)/shpool/compat/util
shpoolcompatutil_HEADERS = \
	include/shpool/compat/util/cuda_types.h \
	include/shpool/compat/util/format.h \
	include/shpool/compat/util/mgpualloc.h \
	include/shpool/compat/util/mgpucontext.h \
	include/shpool/compat/util/mgpumem.h \
	include/shpool/compat/util/util.h
