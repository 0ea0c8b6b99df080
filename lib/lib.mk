# Everything is in a convenience library, so that unit tests and tools reach hidden functions;
# libshpool.so is made of it and exports what SHPOOL_API and SIMT_API mark.
noinst_LTLIBRARIES += libshpool_core.la
libshpool_core_la_SOURCES = \
	lib/advise.c \
	lib/alias.c \
	lib/arch.c \
	lib/config.c \
	lib/descriptor.c \
	lib/devices.c \
	lib/driver.c \
	lib/driver.h \
	lib/elf.c \
	lib/elf.h \
	lib/files.c \
	lib/internal.h \
	lib/last_error.c \
	lib/layout.c \
	lib/link/cache.h \
	lib/link/cache_disk.c \
	lib/link/cache_memory.c \
	lib/link/cubin.c \
	lib/link/cubin.h \
	lib/link/fat.c \
	lib/link/fat.h \
	lib/link/jit.c \
	lib/link/jit.h \
	lib/link/join.c \
	lib/link/link.c \
	lib/link/link.h \
	lib/link/linker.c \
	lib/link/linker.h \
	lib/link/relink.c \
	lib/lock.c \
	lib/lock.h \
	lib/message.c \
	lib/mutex.h \
	lib/options.c \
	lib/options.h \
	lib/plan.c \
	lib/plugin.c \
	lib/plugin.h \
	lib/registry.c \
	lib/report.c \
	lib/requests.c \
	lib/select.c \
	lib/sha256.c \
	lib/sha256.h \
	lib/sha256_x86.c \
	lib/simt_pool.c \
	lib/spec.c \
	lib/status.c \
	lib/text.c \
	lib/trace.c \
	lib/variables.c
EXTRA_DIST += lib/cuda/linked_calls.cu lib/cuda/linked_calls_spill.cu lib/cuda/linked_plain.cu \
	lib/cuda/linked_spill.cu lib/cuda/module.cu
nodist_libshpool_core_la_SOURCES =
if HAVE_LTO_IR
nodist_libshpool_core_la_SOURCES += \
	lib/cuda/linked_calls_lto.c lib/cuda/linked_calls_spill_lto.c lib/cuda/linked_plain_lto.c \
	lib/cuda/linked_spill_lto.c
endif
# flags of its own: automake then keeps x.c and x.cu of one folder apart by object name
libshpool_core_la_CFLAGS = $(AM_CFLAGS)
libshpool_core_la_LIBADD = libshpool_simt.la libshpool_coalesce.la

lib_LTLIBRARIES += libshpool.la
libshpool_la_SOURCES =
libshpool_la_LIBADD  = libshpool_core.la
libshpool_la_LIBTOOLFLAGS = # libshpool.a, too: Makefile.am
# nodelete: it stays loaded after dlclose().  It has a thread key, fork handlers, retained contexts
# and what the driver calls back; unloading would lose each of them once per dlopen(), or leave it
# pointing nowhere.
libshpool_la_LDFLAGS = $(SHPOOL_HARDENING_LDFLAGS) -Wl,-z,nodelete -no-undefined \
	-version-info $(SHPOOL_LT_VERSION)

if HAVE_NVCC
shpooldev_LIBRARIES += libshpool_device.a
libshpool_device_a_SOURCES = \
	lib/cuda/image.cu lib/cuda/image_calls.cu lib/cuda/image_join.cu lib/cuda/image_spill.cu \
	lib/cuda/image_tables.cu
libshpool_device_a_LIBADD = $(shpool_modules)
-include $(libshpool_device_a_OBJECTS:.o=.cud) $(shpool_modules:.o=.cud)
-include $(nodist_libshpool_core_la_SOURCES:.c=.cud)
endif
