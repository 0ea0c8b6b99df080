# What the rewrite of accesses gains: cubins of kernels.cu, plain and rewritten.
# `make bench-coalesce` makes the program and the cubins of nvcc's route; run ./bench-coalesce nvcc.
EXTRA_DIST += tools/bench/coalesce/coalesce.cu tools/bench/coalesce/kernels.cu \
	tools/bench/coalesce/suite.h
if HAVE_NVCC
SHPOOL_COALESCE_ARCH = sm_90
bench-coalesce: tools/bench/coalesce/coalesce.cu tools/bench/coalesce/suite.h nvcc.plain.cubin \
		nvcc.rewritten.cubin nvcc.forced.cubin
	$(AM_V_NVCC)$(NVCC) -O2 -std=c++17 -arch=$(SHPOOL_COALESCE_ARCH) -o $@ \
	  $(top_srcdir)/tools/bench/coalesce/coalesce.cu -L$(SHPOOL_CUDA_LIBDIR)/stubs -lcuda
nvcc.plain.ptx: tools/bench/coalesce/kernels.cu
	$(AM_V_NVCC)$(NVCC) -ptx -O3 -std=c++17 -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
nvcc.rewritten.ptx: nvcc.plain.ptx shpool-coalesce
	$(AM_V_at)./shpool-coalesce rewrite nvcc.plain.ptx -o $@
nvcc.forced.ptx: nvcc.plain.ptx shpool-coalesce
	$(AM_V_at)./shpool-coalesce rewrite --force nvcc.plain.ptx -o $@
nvcc.%.cubin: nvcc.%.ptx
	$(AM_V_NVCC)$(NVCC) -cubin -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
CLEANFILES += bench-coalesce nvcc.*.ptx nvcc.*.cubin
endif

# clang's route, measured: `make bench-coalesce bench-clang`, then ./bench-coalesce clang
if HAVE_LLVM
if HAVE_NVCC
bench-clang: clang.plain.cubin clang.rewritten.cubin clang.forced.cubin
clang.plain.ptx: shpool_coalesce_words = off
clang.rewritten.ptx: shpool_coalesce_words =
clang.forced.ptx: shpool_coalesce_words = force
clang.plain.ptx clang.rewritten.ptx clang.forced.ptx: tools/bench/coalesce/kernels.cu \
		coalesce/shpool-coalesce.so tools/shpool-coalesce-clang
	$(AM_V_GEN)nvcc=`command -v $(firstword $(NVCC))` && CUDA_HOME=$${nvcc%/bin/nvcc} \
	  SHPOOL_COALESCE=$(shpool_coalesce_words) \
	  SHPOOL_COALESCE_PLUGIN=$(abs_top_builddir)/coalesce/shpool-coalesce.so \
	  tools/shpool-coalesce-clang --cuda-gpu-arch=$(SHPOOL_COALESCE_ARCH) --cuda-device-only -O2 \
	  -S -x cuda $< -o $@
clang.%.cubin: clang.%.ptx
	$(AM_V_NVCC)$(NVCC) -cubin -arch=$(SHPOOL_COALESCE_ARCH) -o $@ $<
CLEANFILES += clang.*.ptx clang.*.cubin
endif
endif
