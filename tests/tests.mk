# Tests, a folder for each room of the library.
#
# To add a CMocka program: write tests/ROOM/test_x.c with UNIT_TEST() (tests/test.h), and add
# tests/ROOM/test_x to the list in that room's fragment.  It is linked with all of libshpool, hidden
# functions included, and with code that tests share.  To add a script: write tests/ROOM/x.sh, and
# add it to shpool_test_scripts there.  It runs in the build folder with the environment below; exit
# 77 skips.
shpool_cmocka_tests =
# the same in C++: they list their sources
shpool_cxx_tests =
shpool_test_scripts =
shpool_tests =
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
shpool_compat_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/include/shpool/compat
# for the programs that need cmocka, and for nothing else
if HAVE_CMOCKA
check_LTLIBRARIES += libshpool_tests.la
endif
libshpool_tests_la_SOURCES = tests/faults.c tests/main.c tests/wrapped.c
LDADD = tools/libtools.a libshpool_tests.la libshpool_core.la $(CMOCKA_LIBS) $(LIBM)

# Fuzz targets, tests/ROOM/fuzz_x.c: here each only runs its corpus, tests/corpus/x, once;
# tests/build/fuzz.sh fuzzes.
shpool_fuzz_main = tests/fuzz_main.c
# Requests that fail (tests/faults.h), for the library and not for the C library.
shpool_failing = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=strdup \
	-Wl,--wrap=strndup,--wrap=realpath,--wrap=fdopen,--wrap=fdopendir,--wrap=scandir \
	-Wl,--wrap=posix_memalign,--wrap=mmap,--wrap=munmap,--wrap=pthread_create,--wrap=free
noinst_HEADERS += tests/faults.h tests/fuzz.h tests/growth.h tests/test.h tests/unit.h
# the whole folder, so that new inputs need no line here
EXTRA_DIST += tests/corpus
CLEANFILES += tests/fuzz_*.crash-* tests/fuzz_*.leak-* tests/fuzz_*.timeout-*

include tests/build/build.mk
include tests/check/check.mk
include tests/coalesce/coalesce.mk
include tests/compat/compat.mk
include tests/device/device.mk
include tests/examples/examples.mk
include tests/gpu/gpu.mk
include tests/lib/lib.mk
include tests/loadstore/loadstore.mk
include tests/pools/pools.mk
include tests/python/python.mk
include tests/simt/simt.mk
include tests/tools/tools.mk

shpool_tests += $(shpool_cmocka_tests) $(shpool_cxx_tests)
check_PROGRAMS += $(shpool_tests)
TESTS += $(shpool_test_scripts) $(shpool_tests) $(shpool_examples)
EXTRA_DIST += $(shpool_test_scripts)
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
	llvm_bindir='$(SHPOOL_LLVM_BINDIR)' llvm_includedir='$(SHPOOL_LLVM_INCLUDEDIR)' \
	llvm_library='$(SHPOOL_LLVM_LIBRARY)' \
	hardening='$(SHPOOL_HARDENING_CFLAGS) $(SHPOOL_HARDENING_LDFLAGS)' \
	fuzz_seconds="$${SHPOOL_FUZZ_SECONDS:-5}"; \
	export CC CXX NM NVCC top_srcdir top_builddir allocators public_headers nvrtc_headers \
	  cuda_low cuda_libdir cuda_archs tsan_cflags cmocka_cflags FUZZ_CC fuzz_seconds \
	  llvm_bindir llvm_includedir llvm_library hardening; \
	unset SHPOOL_ALLOCATOR SHPOOL_CACHE_BYTES SHPOOL_CACHE_DIR SHPOOL_COALESCE \
	  SHPOOL_DEVICE_ALLOCATOR \
	  SHPOOL_FUZZ_SECONDS SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH;

# the same programs with far more seeds and schedules
check-long:
	LIBSHPOOL_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(shpool_cmocka_tests)'
.PHONY: check-long

# each fuzz target for a minute: make fuzz; for another time: make fuzz SHPOOL_FUZZ_SECONDS=3600
shpool_fuzz_targets = $(foreach test,$(check_PROGRAMS),$(if $(findstring /fuzz_,$(test)),$(test)))
fuzz:
	@status=0; fuzz_seed=0 SHPOOL_FUZZ_SECONDS="$${SHPOOL_FUZZ_SECONDS:-60}" \
	  $(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(shpool_fuzz_targets)' check_DATA= \
	  TESTS=tests/build/fuzz.sh || status=$$?; \
	cat tests/build/fuzz.log; exit $$status
.PHONY: fuzz

# With an allocator inside these take four times as long to compile if they are optimised, and run
# for less time than that: make check-sanitized LIGHT_CFLAGS=-O0.  check-threads optimises them,
# because only then gcc finds some uses of what is uninitialised.
LIGHT_CFLAGS =
$(addsuffix .o,tests/lib/test_own $(addprefix tests/pools/test_,crowd damage explore group_explore \
	group_misuse init misuse report row stray_calls trace trace_edges wait_turns) \
	tests/pools/test_group_explore_planes-test_group_explore): CFLAGS += $(LIGHT_CFLAGS)

# Tests that run under sanitizers: no scripts, except the one about ThreadSanitizer, and only the
# smaller programs of the load and store functions.  The others take minutes to compile with
# instrumentation, and their walls (tests/loadstore/cpu.h) do not need it.  The tools, which only
# scripts run, are not even built; the tests compile their sources.
shpool_unsanitized = $(addsuffix $(EXEEXT),tests/loadstore/test_loadstore tests/loadstore/test_far \
	tests/loadstore/test_mgpu tests/loadstore/test_paths tests/loadstore/test_thread)
shpool_sanitized_programs = $(filter-out $(shpool_unsanitized),$(check_PROGRAMS))
shpool_sanitized_tests = $(filter-out $(shpool_unsanitized) %.sh,$(TESTS)) \
	tests/simt/planted_race.sh
check-sanitized:
	$(MAKE) $(AM_MAKEFLAGS) check bin_PROGRAMS= check_DATA= \
	  check_PROGRAMS='$(shpool_sanitized_programs)' TESTS='$(shpool_sanitized_tests)'
# What check-sanitized leaves out, and what scripts run: both together are all tests, each once, and
# a few twice, with the optimisation that users have.
shpool_kept = $(addsuffix $(EXEEXT),tests/coalesce/test_random tests/coalesce/test_run \
	tests/device/test_model tests/device/test_resource tests/lib/test_limits \
	tests/pools/test_after_explore tests/pools/test_cluster tests/pools/test_cluster_explore \
	tests/pools/test_conformance tests/pools/test_crowd tests/pools/test_explore \
	tests/pools/test_explore_planes tests/pools/test_geometry tests/pools/test_lock \
	tests/pools/test_wait_schedules tests/pools/test_warp_explore)
shpool_once = $(filter-out $(shpool_unsanitized) $(shpool_kept),$(shpool_tests) \
	$(shpool_coalesce_tests))
check-rest:
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS='$(filter-out $(shpool_once),$(check_PROGRAMS))' \
	  TESTS='$(filter-out $(shpool_once),$(TESTS))'
.PHONY: check-rest
# ThreadSanitizer does not run programs that have neither kernels nor threads at the same time, that
# have thousands of geometries and shapes in which the same threads do the same, or that repeat what
# others do, by the names of cuda_memory and MGPU.
shpool_unthreaded = $(addsuffix $(EXEEXT),tests/coalesce/fuzz_lint tests/coalesce/fuzz_ptx \
	tests/coalesce/test_coalesce \
	tests/coalesce/test_memory tests/coalesce/test_plan tests/coalesce/test_random \
	tests/coalesce/test_run tests/coalesce/test_warp \
	tests/compat/test_compat tests/compat/test_debug tests/compat/test_mgpu \
	tests/compat/test_mgpu_memory tests/compat/test_mgpu_sync tests/compat/test_mgpu_versions \
	tests/device/fuzz_device tests/device/test_array tests/device/test_bins \
	tests/device/test_buckets tests/device/test_buffer tests/device/test_capture \
	tests/device/test_context tests/device/test_devices tests/device/test_faults \
	tests/device/test_graph tests/device/test_hooks \
	tests/device/test_host tests/device/test_messages tests/device/test_model \
	tests/device/test_nvtx tests/device/test_open tests/device/test_plugin \
	tests/device/test_ranges tests/device/test_train tests/device/test_trim \
	tests/device/test_waits tests/device/test_windows \
	tests/lib/fuzz_spec tests/lib/test_cache tests/lib/test_config tests/lib/test_join \
	tests/lib/test_keys tests/lib/test_limits tests/lib/test_link tests/lib/test_plan \
	tests/lib/test_plan_random tests/lib/test_spec \
	tests/loadstore/test_layout tests/pools/test_geometry tests/pools/test_group_search \
	tests/tools/fuzz_log tests/tools/fuzz_options \
	tests/tools/fuzz_trace tests/tools/test_bench_memory tests/tools/test_memory_log \
	tests/tools/test_tool_faults)
check-threads:
	$(MAKE) $(AM_MAKEFLAGS) check bin_PROGRAMS= check_DATA= \
	  check_PROGRAMS='$(filter-out $(shpool_unthreaded),$(shpool_sanitized_programs))' \
	  TESTS='$(filter-out $(shpool_unthreaded),$(shpool_sanitized_tests))'
.PHONY: check-sanitized check-threads

# Line coverage of all tests; see build-aux/coverage.sh.  Left out: tests of other copies of the
# sources, those that need a shared library, and faults.sh, in which gcov has no memory left.
coverage:
	$(SHELL) $(top_srcdir)/build-aux/coverage.sh $(top_srcdir)
print-coverage-tests:
	@echo $(filter-out tests/build/% tests/pools/planted% tests/simt/planted% \
	  tests/check/check.sh tests/python/% tests/tools/faults.sh,$(TESTS))
.PHONY: coverage print-coverage-tests
