# ---- CMocka programs: tests/test_x.c, linked with all of libshpool, hidden functions included ----
# To add one: write tests/test_x.c and add tests/test_x here; set tests_test_x_SOURCES only if there
# is more than that file.
shpool_cmocka_tests =
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/test_after \
	tests/test_after_explore \
	tests/test_arena \
	tests/test_cache \
	tests/test_cache_disk \
	tests/test_checked \
	tests/test_cluster \
	tests/test_cluster_explore \
	tests/test_cluster_others \
	tests/test_config \
	tests/test_conformance \
	tests/test_cost \
	tests/test_damage \
	tests/test_doc_snippets \
	tests/test_explore \
	tests/test_heap \
	tests/test_init \
	tests/test_geometry \
	tests/test_join \
	tests/test_limits \
	tests/test_link \
	tests/test_lock \
	tests/test_misuse \
	tests/test_own \
	tests/test_plan \
	tests/test_plan_random \
	tests/test_plugin \
	tests/test_policy \
	tests/test_registry \
	tests/test_report \
	tests/test_simt \
	tests/test_simt_async \
	tests/test_simt_async_misuse \
	tests/test_simt_cluster \
	tests/test_simt_explore \
	tests/test_simt_pool \
	tests/test_simt_warp \
	tests/test_spec \
	tests/test_spill \
	tests/test_status \
	tests/test_wait
endif
shpool_tests = $(shpool_cmocka_tests)
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
# what several of them share
check_LTLIBRARIES += libshpool_tests.la
libshpool_tests_la_SOURCES = \
	tests/cache_trial.h \
	tests/cluster_trial.h \
	tests/explore_pool.h \
	tests/fake_jit.h \
	tests/heap_model.c \
	tests/heap_model.h \
	tests/heap_trial.h \
	tests/plan_trial.h \
	tests/plugin_trial.h \
	tests/simt_trial.h \
	tests/unit.h
LDADD = libshpool_tests.la libshpool_core.la $(CMOCKA_LIBS) $(LIBM)

# ---- fuzz targets: tests/fuzz_x.c ----
# Here each runs its corpus, tests/corpus/x, once and no more; tests/fuzz.sh fuzzes.
if HAVE_CMOCKA
shpool_tests += tests/fuzz_heap tests/fuzz_register tests/fuzz_spec
tests_fuzz_heap_SOURCES     = tests/fuzz.h tests/fuzz_heap.c tests/fuzz_main.c
tests_fuzz_register_SOURCES = tests/fuzz.h tests/fuzz_main.c tests/fuzz_register.c
tests_fuzz_spec_SOURCES     = tests/fuzz.h tests/fuzz_main.c tests/fuzz_spec.c
endif
# with all that is in it: what is found later needs no line here
EXTRA_DIST += tests/corpus

# The algorithms as C++17, against the CPU seam.
shpool_tests += tests/simt_cxx
tests_simt_cxx_SOURCES = tests/simt_cxx.cc
tests_simt_cxx_LDADD   = libshpool_core.la

# The blocked layout: its block functions are templates.
if HAVE_CMOCKA
shpool_tests += tests/test_layout
tests_test_layout_SOURCES = tests/layout_trial.h tests/test_layout.cc
tests_test_layout_LDADD   = libshpool_core.la $(CMOCKA_LIBS)
endif

# cuda_memory's names, C++ too.
if HAVE_CMOCKA
shpool_tests += tests/test_compat tests/test_compat_debug
tests_test_compat_SOURCES        = tests/compat_glob.h tests/compat_trial.h tests/test_compat.cc
tests_test_compat_CPPFLAGS       = $(AM_CPPFLAGS) -I$(top_srcdir)/include/shpool/compat
tests_test_compat_LDADD          = libshpool_core.la $(CMOCKA_LIBS)
tests_test_compat_debug_SOURCES  = tests/test_compat_debug.cc
tests_test_compat_debug_CPPFLAGS = $(tests_test_compat_CPPFLAGS)
tests_test_compat_debug_LDADD    = $(tests_test_compat_LDADD)
endif

# Block-cooperative load and store, on the executor.
noinst_HEADERS += \
	tests/loadstore_cpu.h \
	tests/loadstore_examples.h \
	tests/loadstore_gpu.cuh \
	tests/loadstore_ops.h \
	tests/loadstore_paths.h \
	tests/loadstore_run.h \
	tests/loadstore_scene.h \
	tests/loadstore_trial.h
if HAVE_CMOCKA
shpool_loadstore_tests = tests/test_loadstore tests/test_loadstore_far tests/test_loadstore_mgpu \
	tests/test_loadstore_own tests/test_loadstore_paths tests/test_loadstore_snippets \
	tests/test_loadstore_thread
shpool_tests += $(shpool_loadstore_tests)
tests_test_loadstore_SOURCES        = tests/test_loadstore.cc
tests_test_loadstore_LDADD          = libshpool_core.la $(CMOCKA_LIBS)
tests_test_loadstore_far_SOURCES    = tests/test_loadstore_far.cc
tests_test_loadstore_far_LDADD      = $(tests_test_loadstore_LDADD)
tests_test_loadstore_mgpu_SOURCES   = tests/test_loadstore_mgpu.cc
tests_test_loadstore_mgpu_CPPFLAGS  = $(AM_CPPFLAGS) -I$(top_srcdir)/include/shpool/compat
tests_test_loadstore_mgpu_LDADD     = $(tests_test_loadstore_LDADD)
tests_test_loadstore_own_SOURCES    = tests/test_loadstore_own.cc
tests_test_loadstore_own_CPPFLAGS   = $(tests_test_loadstore_mgpu_CPPFLAGS)
tests_test_loadstore_own_LDADD      = $(tests_test_loadstore_LDADD)
tests_test_loadstore_paths_SOURCES  = tests/test_loadstore_paths.cc
tests_test_loadstore_paths_LDADD    = $(tests_test_loadstore_LDADD)
tests_test_loadstore_snippets_SOURCES = tests/test_loadstore_snippets.cc
tests_test_loadstore_snippets_LDADD = $(tests_test_loadstore_LDADD)
tests_test_loadstore_thread_SOURCES = tests/test_loadstore_thread.cc
tests_test_loadstore_thread_LDADD   = $(tests_test_loadstore_LDADD)
endif

# ---- on a GPU: linked by nvcc; exit 77 (skipped) without a device ----
if HAVE_NVCC
shpool_tests += tests/gpu_cluster
tests_gpu_cluster_SOURCES      = tests/gpu_cluster.cu
tests_gpu_cluster_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_cluster_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_cluster_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_cluster.cud

# not run by make check: make tests/bench_cluster
EXTRA_PROGRAMS = tests/bench_cluster
tests_bench_cluster_SOURCES      = tests/bench_cluster.cu
tests_bench_cluster_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_bench_cluster_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_bench_cluster_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/bench_cluster.cud

shpool_tests += tests/gpu_after
tests_gpu_after_SOURCES      = tests/gpu_after.cu
tests_gpu_after_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_after_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_after_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_after.cud

shpool_tests += tests/gpu_conformance
tests_gpu_conformance_SOURCES      = tests/gpu_conformance.cu
tests_gpu_conformance_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_conformance_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_conformance_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_conformance.cud

shpool_tests += tests/gpu_spill
tests_gpu_spill_SOURCES      = tests/gpu_spill.cu
tests_gpu_spill_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_spill_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_spill_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_spill.cud

shpool_tests += tests/gpu_layout
tests_gpu_layout_SOURCES      = tests/gpu_layout.cu tests/layout_trial.h
tests_gpu_layout_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_layout_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_layout_LINK         = $(SHPOOL_NVCC_LINK)
-include tests/gpu_layout.cud

shpool_tests += tests/gpu_loadstore
tests_gpu_loadstore_SOURCES = \
	tests/gpu_loadstore.cu \
	tests/gpu_loadstore_copies.cu \
	tests/gpu_loadstore_stages.cu \
	tests/gpu_loadstore_threads.cu
tests_gpu_loadstore_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_loadstore_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_loadstore_LINK         = $(SHPOOL_NVCC_LINK)
-include $(tests_gpu_loadstore_OBJECTS:.o=.cud)

shpool_tests += tests/gpu_bindings
tests_gpu_bindings_SOURCES = \
	examples/own_allocator/device.cu \
	examples/own_allocator/host.c \
	tests/binding_inline_bitmap.cu \
	tests/binding_inline_thread_first_fit.cu \
	tests/gpu_bindings.cu \
	tests/gpu_bindings_linked.cu
tests_gpu_bindings_LDADD        = $(SHPOOL_NVCC_LIBS)
tests_gpu_bindings_DEPENDENCIES = $(SHPOOL_NVCC_DEPS)
tests_gpu_bindings_LINK         = $(SHPOOL_NVCC_LINK)
if HAVE_LTO_IR
nodist_tests_gpu_bindings_SOURCES = tests/binding_linked_lto.c
-include tests/binding_linked_lto.cud
else
SHPOOL_NVCC_CPPFLAGS += -DBINDING_NO_LTO
endif
-include $(tests_gpu_bindings_OBJECTS:.o=.cud)
endif

noinst_HEADERS += \
	tests/binding_kernel.cuh \
	tests/binding_run.h \
	tests/conformance_kernels.cuh \
	tests/gpu_check.h \
	tests/gpu_checked.h \
	tests/gpu_trial.h
EXTRA_DIST += tests/binding_linked.cu

# ---- scripts: tests/x.sh, run in the build folder with the environment below ----
# To add one: write it and add it here; exit 77 skips.
shpool_test_scripts = tests/abi.sh tests/adding.sh tests/after_sass.sh tests/archive.sh \
	tests/bench.sh tests/bench_plot.sh tests/compat.sh tests/defects.sh tests/docs.sh \
	tests/fuzz.sh tests/headers.sh tests/linked.sh tests/loadstore_sass.sh tests/man.sh \
	tests/messages.sh tests/planted.sh tests/planted_race.sh tests/plugin.sh tests/reference.sh \
	tests/sass.sh tests/snippets.sh tests/style.sh tests/symbols.sh tests/tools.sh
EXTRA_DIST += $(shpool_test_scripts) tests/doc_blocks.awk tests/prototypes.awk \
	tests/synopsis.awk tests/checks.sh tests/compat_use.cu tests/doc_snippets.cu \
	tests/loadstore_kernels.cu

# helpers of theirs, no tests themselves
check_PROGRAMS += tests/planted_race
tests_planted_race_LDADD = libshpool_core.la
shpool_nvrtc =
EXTRA_DIST += tests/nvrtc_headers.c
if HAVE_NVRTC
shpool_nvrtc += tests/nvrtc_headers
endif
tests/nvrtc_headers: tests/nvrtc_headers.c
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) -o $@ $(top_srcdir)/tests/nvrtc_headers.c -lnvrtc
check_DATA = $(shpool_nvrtc)
CLEANFILES = tests/nvrtc_headers tests/fuzz_*.crash-* tests/fuzz_*.leak-* tests/fuzz_*.timeout-*

check_PROGRAMS += $(shpool_tests)
TESTS += $(shpool_tests) $(shpool_examples) $(shpool_test_scripts)
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
# no name begins with SHPOOL_: the library warns of variables that it does not know
AM_TESTS_ENVIRONMENT = \
	CC='$(CC)' CXX='$(CXX)' NM='$(NM)' NVCC='$(NVCC)' top_srcdir='$(top_srcdir)' \
	top_builddir='$(top_builddir)' allocators='$(SHPOOL_ALLOCATOR_NAMES)' \
	public_headers='$(shpool_HEADERS) $(shpooldevice_HEADERS) $(shpoolloadstore_HEADERS) \
	  $(shpoolcompat_HEADERS) \
	  $(shpoolcompatdevice_HEADERS) $(shpoolcompatutil_HEADERS) $(nobase_shpool_HEADERS)' \
	nvrtc_headers='$(shpool_nvrtc)' \
	cuda_low='$(SHPOOL_CUDA_LOW)' cuda_libdir='$(SHPOOL_CUDA_LIBDIR)' \
	cuda_archs='$(SHPOOL_CUDA_ARCHS)' \
	tsan_cflags='$(SHPOOL_TSAN_CFLAGS)' cmocka_cflags='$(CMOCKA_CFLAGS)' FUZZ_CC='$(FUZZ_CC)' \
	fuzz_seconds="$${SHPOOL_FUZZ_SECONDS:-5}"; \
	export CC CXX NM NVCC top_srcdir top_builddir allocators public_headers nvrtc_headers \
	  cuda_low cuda_libdir cuda_archs tsan_cflags cmocka_cflags FUZZ_CC fuzz_seconds; \
	unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_DEVICE_ALLOCATOR \
	  SHPOOL_FUZZ_SECONDS SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH;

# the same programs with far more seeds and schedules
check-long:
	LIBSHPOOL_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(shpool_cmocka_tests)'
.PHONY: check-long

# What sanitizers are for: no scripts, but for the one about ThreadSanitizer, and of the load and
# store functions the smaller programs.  The others take minutes to compile with instrumentation,
# and their walls (tests/loadstore_cpu.h) need none.
shpool_unsanitized = $(addsuffix $(EXEEXT),tests/test_loadstore tests/test_loadstore_far \
	tests/test_loadstore_paths tests/test_loadstore_thread)
shpool_sanitized_programs = $(filter-out $(shpool_unsanitized),$(check_PROGRAMS))
shpool_sanitized_tests = $(filter-out $(shpool_unsanitized) %.sh,$(TESTS)) \
	tests/planted_race.sh
check-sanitized:
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(shpool_sanitized_programs)' \
	  TESTS='$(shpool_sanitized_tests)'
# What ThreadSanitizer is for: not those that have neither threads nor kernels, nor thousands of
# geometries in which the same threads do the same.
shpool_unthreaded = $(addsuffix $(EXEEXT),tests/fuzz_ptx tests/test_coalesce \
	tests/test_coalesce_plan tests/test_coalesce_random tests/test_coalesce_rows \
	tests/test_coalesce_run tests/test_device_faults tests/test_device_model \
	tests/test_geometry)
check-threads:
	$(MAKE) $(AM_MAKEFLAGS) check \
	  check_PROGRAMS='$(filter-out $(shpool_unthreaded),$(shpool_sanitized_programs))' \
	  TESTS='$(filter-out $(shpool_unthreaded),$(shpool_sanitized_tests))'
.PHONY: check-sanitized check-threads

# ---- what doc/ and README.md tell users to type, against the installed files ----
EXTRA_DIST += tests/installcheck.sh tests/uninstall.sh tests/consumer.c tests/consumer.cu \
	tests/load_two.c
installcheck-local:
	NVCC='$(NVCC)' CC='$(CC)' CXX='$(CXX)' PKG_CONFIG='$(PKG_CONFIG)' \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)' PKG_CONFIG_SYSROOT_DIR='$(DESTDIR)' \
	LIBDIR='$(DESTDIR)$(libdir)' BINDIR='$(DESTDIR)$(bindir)' \
	INCLUDEDIR='$(DESTDIR)$(includedir)' MANDIR='$(DESTDIR)$(mandir)' \
	DOCDIR='$(DESTDIR)$(docdir)' \
	allocators='$(SHPOOL_ALLOCATOR_NAMES)' \
	MAKE='$(MAKE)' CMAKE='$(CMAKE)' \
	  $(SHELL) $(srcdir)/tests/installcheck.sh $(srcdir)/tests
	MAKE='$(MAKE)' $(SHELL) $(srcdir)/tests/uninstall.sh
