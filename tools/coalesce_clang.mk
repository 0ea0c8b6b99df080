# clang for CUDA 13 with the plugin; only where that is built.
EXTRA_DIST += tools/coalesce_clang.in
rgbexampledir = $(docdir)/examples/rgb
dist_rgbexample_DATA = examples/rgb/main.cpp examples/rgb/rgb.cu examples/rgb/rgb.h
if HAVE_LLVM
bin_SCRIPTS = tools/shpool-coalesce-clang
all-local: $(bin_SCRIPTS)
tools/shpool-coalesce-clang: $(top_srcdir)/tools/coalesce_clang.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed -e 's|@CLANGXX[@]|$(SHPOOL_LLVM_BINDIR)/clang++|' \
	  -e 's|@PLUGIN[@]|$(shpoolplugindir)/shpool-coalesce.so|' \
	  $(top_srcdir)/tools/coalesce_clang.in >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
CLEANFILES += tools/shpool-coalesce-clang
endif

# clang's route, measured: `make bench-coalesce bench-clang`, then ./bench-coalesce clang
if HAVE_LLVM
if HAVE_NVCC
bench-clang: clang.plain.cubin clang.rewritten.cubin clang.forced.cubin
clang.plain.ptx: shpool_coalesce_words = off
clang.rewritten.ptx: shpool_coalesce_words =
clang.forced.ptx: shpool_coalesce_words = force
clang.plain.ptx clang.rewritten.ptx clang.forced.ptx: $(top_srcdir)/tools/coalesce_kernels.cu \
		coalesce/shpool-coalesce.so tools/shpool-coalesce-clang
	$(AM_V_GEN)nvcc=`command -v $(firstword $(NVCC))` && CUDA_HOME=$${nvcc%/bin/nvcc} \
	  SHPOOL_COALESCE=$(shpool_coalesce_words) \
	  SHPOOL_COALESCE_PLUGIN=$(abs_top_builddir)/coalesce/shpool-coalesce.so \
	  tools/shpool-coalesce-clang --cuda-gpu-arch=$(SHPOOL_COALESCE_ARCH) --cuda-device-only -O2 \
	  -S -x cuda $(top_srcdir)/tools/coalesce_kernels.cu -o $@
clang.%.cubin: clang.%.ptx
	$(AM_V_NVCC)$(NVCC) -cubin -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
CLEANFILES += clang.*.ptx clang.*.cubin
endif
endif
