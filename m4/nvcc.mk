# Rules that compile a .cu to an object of relocatable, position-independent device code, and to
# LTO-IR inside libshpool.so.  No libtool here: the device library is a static archive only, so
# ordinary rules and _LIBRARIES do the whole job.
SUFFIXES = .cu

AM_V_NVCC    = $(am__v_NVCC_@AM_V@)
am__v_NVCC_  = $(am__v_NVCC_@AM_DEFAULT_V@)
am__v_NVCC_0 = @echo "  NVCC    " $@;
am__v_NVCC_1 =
AM_V_LTOIR    = $(am__v_LTOIR_@AM_V@)
am__v_LTOIR_  = $(am__v_LTOIR_@AM_DEFAULT_V@)
am__v_LTOIR_0 = @echo "  LTOIR   " $@;
am__v_LTOIR_1 =

SHPOOL_NVCC_CPPFLAGS = $(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS)
# -fPIC: users link the archive into their own shared libraries.
# -forward-unknown...: distributions put -Wdate-time and the like in CPPFLAGS.
SHPOOL_NVCC_COMMON = -std=c++17 -forward-unknown-to-host-compiler \
	-fPIC -fvisibility=hidden -Wall -Wextra $(SHPOOL_NVCC_WERROR) $(NVCCFLAGS)
# -G not in COMMON: nvcc refuses it for LTO-IR
SHPOOL_NVCC_FLAGS = $(SHPOOL_NVCC_GENCODE) $(SHPOOL_NVCC_DEBUG) $(SHPOOL_NVCC_COMMON)

# Programs of .cu files, x of x.cu: in this list.  Further objects are prerequisites of x, further
# libraries its shpool_nvcc_more.  (shpool-bench, of C and .cu, is automake's and sets _LINK.)
# nvcc cannot read a .la; libtool's convenience archive holds all of libshpool, so such a program
# needs no library path when it runs.  --export-dynamic: for plugins.
shpool_nvcc_programs =
AM_V_NVCCLD    = $(am__v_NVCCLD_@AM_V@)
am__v_NVCCLD_  = $(am__v_NVCCLD_@AM_DEFAULT_V@)
am__v_NVCCLD_0 = @echo "  NVCCLD  " $@;
am__v_NVCCLD_1 =
SHPOOL_NVCC_LINK = $(NVCC) $(SHPOOL_NVCC_FLAGS) -Xlinker --export-dynamic \
	$(SHPOOL_HARDENING_LDFLAGS) -rdc=true -o $@
SHPOOL_NVCC_LIBS = libshpool_device.a .libs/libshpool_core.a -lpthread $(LIBM) $(LIBS)
SHPOOL_NVCC_DEPS = libshpool_device.a libshpool_core.la

# A kernel that calls through the table inherits the highest register count of all its functions:
# above 32 it could not have 2,048 threads on a multiprocessor.  A function that needs more than 14
# (the rest belong to its caller) or 32 then saves some on the stack; tests/build/sass.sh says which
# may.
SHPOOL_NVCC_TABLE = -maxrregcount=32
$(libshpool_device_a_OBJECTS): SHPOOL_NVCC_FLAGS += $(SHPOOL_NVCC_TABLE)
# Names that lib/link/relink.c finds in fat binaries: not every part of the archive is joined anew.
SHPOOL_NVCC_IDENT = -Xfatbin --ident=shpool:
lib/cuda/image_calls.o: SHPOOL_NVCC_FLAGS += $(SHPOOL_NVCC_IDENT)calls

# $(MKDIR_P) is for VPATH builds: automake makes only the folders that it knows objects in.
.cu.o:
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_FLAGS) -dc \
	  -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<

# an allocator's function tables: allocators/x/x_module.o is lib/cuda/module.cu for x
allocators/%_module.o: lib/cuda/module.cu
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) -DSHPOOL_MODULE=$(*F) $(SHPOOL_NVCC_FLAGS) \
	  $(SHPOOL_NVCC_TABLE) $(SHPOOL_NVCC_IDENT)$(*F) -dc -MMD -MP -MT $@ -MF $(@:.o=.cud) -o $@ $<

# x.cu as LTO-IR (nvJitLink's input, for any GPU from the lowest on), as a C source that defines
# the shpool_blob shpool_lto_x; allocators/x/x_lto.c is lib/cuda/module.cu for x, as the one module
# of a linked kernel.  What has calls has LTO-IR without them, too, for kernels of architectures
# with a letter (impl/simt/cuda.h says why).
SHPOOL_LTO_C = $(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) \
	-rdc=true -dlto -arch=sm_$(SHPOOL_LTO_ARCH) -ltoir \
	-MMD -MP -MT $@ -MF $(@:.c=.cud) -o $(@:.c=.ltoir) $<
SHPOOL_EMBED = $(SHELL) $(top_srcdir)/build-aux/embed.sh $(@:.c=.ltoir) shpool_lto_$(*F) \
	$(SHPOOL_CUDA_VERSION) $(SHPOOL_LTO_ARCH) >$@-t && mv -f $@-t $@
SHPOOL_LTO_NO_CALLS = $(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) -rdc=true -dlto \
	-arch=sm_$(SHPOOL_LTO_LETTERS) -ltoir -DSHPOOL_CALLS=0 -o $(@:.c=_letters.ltoir) $<
SHPOOL_EMBED_BOTH = $(SHELL) $(top_srcdir)/build-aux/embed.sh $(@:.c=.ltoir) \
	shpool_lto_$(patsubst %_lto.c,%,$(@F)) $(SHPOOL_CUDA_VERSION) $(SHPOOL_LTO_ARCH) \
	$(@:.c=_letters.ltoir) "$(SHPOOL_LTO_LETTERS) | SHPOOL_ARCH_LETTER('a')" >$@-t && mv -f $@-t $@
allocators/%_lto.c: lib/cuda/module.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(SHPOOL_LTO_C) -DSHPOOL_MODULE=$(*F) -DSHPOOL_LINKED_MODULE
	$(AM_V_at)if grep -q SIMT_FN_NOINLINE $(srcdir)/allocators/$(*F)/*.h; then \
	  $(SHPOOL_LTO_NO_CALLS) -DSHPOOL_MODULE=$(*F) -DSHPOOL_LINKED_MODULE && \
	  $(SHPOOL_EMBED_BOTH); \
	else $(SHPOOL_EMBED); fi
lib/cuda/%_spill_lto.c: lib/cuda/%_spill.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(SHPOOL_LTO_C)
	$(AM_V_at)$(SHPOOL_LTO_NO_CALLS) && $(SHPOOL_EMBED_BOTH)
%_lto.c: %.cu $(top_srcdir)/build-aux/embed.sh
	@$(MKDIR_P) $(@D)
	$(AM_V_LTOIR)$(SHPOOL_LTO_C)
	$(AM_V_at)$(SHPOOL_EMBED)
.PRECIOUS: allocators/%_lto.c %_lto.c
# for programs of .cu files; what automake lists, it compiles itself
%_lto.o: %_lto.c
	$(AM_V_CC)$(CC) $(DEFS) -I. $(AM_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) -c -o $@ $<

CLEANFILES += $(shpool_nvcc_programs)
shpool_made_in = allocators device examples lib tests tools
mostlyclean-local:
	-find $(shpool_made_in) -name '*.cud' -o -name '*.ltoir' -o -name '*_lto.c' -o -name '*.o' \
	  2>/dev/null | xargs rm -f

DISTCLEANFILES = device/builtin_providers.def lib/builtin_allocators.def
distclean-local:
	-rm -rf coverage.d
	-rm -f include/shpool/allocators
	-test "$(srcdir)" = . || rmdir include/shpool include 2>/dev/null || :
