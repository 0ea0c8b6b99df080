# Arrays in host memory, and buffers in device memory.
libshpool_core_la_SOURCES += \
	device/arrays/buffer.c \
	device/arrays/buffer.h \
	device/arrays/elements.c \
	device/arrays/elements.h \
	device/arrays/fill.c \
	device/arrays/fill_kernels.h \
	device/arrays/kernels.c \
	device/arrays/kernels.h \
	device/arrays/print.c \
	device/arrays/random.c \
	device/arrays/sort.c
libshpool_la_LIBADD += $(LIBM)

# The kernels as a fat binary inside libshpool.so; without nvcc the host fills.
EXTRA_DIST += device/arrays/kernels.cu
if HAVE_NVCC
nodist_libshpool_core_la_SOURCES += device/arrays/kernels_image.c
endif
AM_V_FATBIN    = $(am__v_FATBIN_@AM_V@)
am__v_FATBIN_  = $(am__v_FATBIN_@AM_DEFAULT_V@)
am__v_FATBIN_0 = @echo "  FATBIN  " $@;
am__v_FATBIN_1 =
device/arrays/kernels_image.c: device/arrays/kernels.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_FATBIN)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_GENCODE) $(SHPOOL_NVCC_COMMON) \
	  -fatbin -MMD -MP -MT $@ -MF device/arrays/kernels_image.cud -o device/arrays/kernels.fatbin \
	  $(top_srcdir)/device/arrays/kernels.cu
	$(AM_V_at)$(SHELL) $(top_srcdir)/build-aux/embed.sh device/arrays/kernels.fatbin \
	  shpool_kernels_image $(SHPOOL_CUDA_VERSION) $(SHPOOL_LTO_ARCH) >$@-t && mv -f $@-t $@
MOSTLYCLEANFILES += device/arrays/kernels_image.c device/arrays/kernels.fatbin
