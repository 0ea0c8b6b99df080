# ---- CMocka programs: tests/test_x.c, linked with all of libshpool, hidden functions included ----
# To add one: write tests/test_x.c and add tests/test_x here; set tests_test_x_SOURCES only if there
# is more than that file.
shpool_cmocka_tests =
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/test_config \
	tests/test_link \
	tests/test_plan \
	tests/test_registry \
	tests/test_simt \
	tests/test_simt_pool \
	tests/test_spec \
	tests/test_status
endif
shpool_tests = $(shpool_cmocka_tests)
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
noinst_HEADERS += tests/unit.h
LDADD = libshpool_core.la $(CMOCKA_LIBS) $(LIBM)

# The algorithms as C++17, against the CPU seam.
shpool_tests += tests/simt_cxx
tests_simt_cxx_SOURCES = tests/simt_cxx.cc
tests_simt_cxx_LDADD   = libshpool_core.la

# ---- scripts: tests/x.sh, run in the build folder with the environment below ----
# To add one: write it and add it here; exit 77 skips.
shpool_test_scripts = tests/headers.sh tests/planted_race.sh tests/symbols.sh
EXTRA_DIST += $(shpool_test_scripts)

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
CLEANFILES = tests/nvrtc_headers

check_PROGRAMS += $(shpool_tests)
TESTS += $(shpool_tests) $(shpool_examples) $(shpool_test_scripts)
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
# no name begins with SHPOOL_: the library warns of variables that it does not know
AM_TESTS_ENVIRONMENT = \
	CC='$(CC)' CXX='$(CXX)' NM='$(NM)' NVCC='$(NVCC)' top_srcdir='$(top_srcdir)' \
	top_builddir='$(top_builddir)' allocators='$(SHPOOL_ALLOCATOR_NAMES)' \
	public_headers='$(shpool_HEADERS) $(nobase_shpool_HEADERS)' nvrtc_headers='$(shpool_nvrtc)' \
	cuda_low='$(SHPOOL_CUDA_LOW)' cuda_libdir='$(SHPOOL_CUDA_LIBDIR)' \
	tsan_cflags='$(SHPOOL_TSAN_CFLAGS)'; \
	export CC CXX NM NVCC top_srcdir top_builddir allocators public_headers nvrtc_headers \
	  cuda_low cuda_libdir tsan_cflags; \
	unset SHPOOL_ALLOCATOR SHPOOL_LOG_LEVEL SHPOOL_PLUGIN_PATH;

# the same programs with far more seeds and schedules
check-long:
	SHPOOL_TEST_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(shpool_cmocka_tests)'
.PHONY: check-long

# ---- what doc/ and README.md tell users to type, against the installed files ----
EXTRA_DIST += tests/installcheck.sh tests/consumer.c tests/consumer.cu tests/load_two.c
installcheck-local:
	NVCC='$(NVCC)' CC='$(CC)' PKG_CONFIG='$(PKG_CONFIG)' \
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)' PKG_CONFIG_SYSROOT_DIR='$(DESTDIR)' \
	LIBDIR='$(DESTDIR)$(libdir)' BINDIR='$(DESTDIR)$(bindir)' \
	INCLUDEDIR='$(DESTDIR)$(includedir)' allocators='$(SHPOOL_ALLOCATOR_NAMES)' \
	  $(SHELL) $(srcdir)/tests/installcheck.sh $(srcdir)/tests
