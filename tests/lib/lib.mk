# Registry, specs, plans, messages, run-time linking.
noinst_HEADERS += \
	tests/lib/cache_trial.h \
	tests/lib/fake_jit.h \
	tests/lib/made_cubin.h \
	tests/lib/made_fat.h \
	tests/lib/plan_trial.h \
	tests/lib/plugin_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/lib/test_cache \
	tests/lib/test_cache_disk \
	tests/lib/test_config \
	tests/lib/test_cubin \
	tests/lib/test_join \
	tests/lib/test_keys \
	tests/lib/test_limits \
	tests/lib/test_link \
	tests/lib/test_linker \
	tests/lib/test_memory \
	tests/lib/test_own \
	tests/lib/test_plan \
	tests/lib/test_plan_random \
	tests/lib/test_plugin \
	tests/lib/test_registry \
	tests/lib/test_relink \
	tests/lib/test_report \
	tests/lib/test_spec \
	tests/lib/test_status
shpool_tests += tests/lib/fuzz_spec
tests_lib_fuzz_spec_SOURCES = tests/lib/fuzz_spec.c $(shpool_fuzz_main)
tests_lib_test_memory_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
tests_lib_test_relink_LDFLAGS = $(AM_LDFLAGS) $(shpool_failing)
endif

# ---- an ordinary program with a CUDA runtime of the test's own ----
noinst_HEADERS += tests/lib/fake_runtime.h
EXTRA_DIST += tests/lib/fake_runtime.cc tests/lib/test_image.cu
if HAVE_NVCC
check_DATA += tests/lib/test_image
TESTS += tests/lib/test_image
CLEANFILES += tests/lib/test_image
tests/lib/fake_runtime.o: tests/lib/fake_runtime.cc tests/lib/fake_runtime.h
	@$(MKDIR_P) $(@D)
	$(AM_V_NVCC)$(NVCC) $(SHPOOL_NVCC_CPPFLAGS) $(SHPOOL_NVCC_COMMON) -x c++ -c -o $@ $<
# in two steps: with -cudart none nvcc would not link device code
tests/lib/test_image: tests/lib/test_image.o tests/lib/fake_runtime.o $(SHPOOL_NVCC_DEPS)
	$(AM_V_NVCCLD)$(NVCC) $(SHPOOL_NVCC_FLAGS) -dlink -rdc=true -o $@_device.o \
	  tests/lib/test_image.o libshpool_device.a
	$(AM_V_at)$(CXX) $(CXXFLAGS) -Wl,--export-dynamic $(SHPOOL_HARDENING_LDFLAGS) $(LDFLAGS) -o $@ \
	  tests/lib/test_image.o tests/lib/fake_runtime.o $@_device.o $(SHPOOL_NVCC_LIBS)
-include tests/lib/test_image.cud
endif
