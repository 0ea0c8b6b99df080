# Registry, specs, plans, messages, run-time linking.
noinst_HEADERS += \
	tests/lib/cache_trial.h \
	tests/lib/fake_jit.h \
	tests/lib/plan_trial.h \
	tests/lib/plugin_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/lib/test_cache \
	tests/lib/test_cache_disk \
	tests/lib/test_config \
	tests/lib/test_join \
	tests/lib/test_limits \
	tests/lib/test_link \
	tests/lib/test_own \
	tests/lib/test_plan \
	tests/lib/test_plan_random \
	tests/lib/test_plugin \
	tests/lib/test_registry \
	tests/lib/test_spec \
	tests/lib/test_status
shpool_tests += tests/lib/fuzz_register tests/lib/fuzz_spec
tests_lib_fuzz_register_SOURCES = tests/lib/fuzz_register.c $(shpool_fuzz_main)
tests_lib_fuzz_spec_SOURCES     = tests/lib/fuzz_spec.c $(shpool_fuzz_main)
endif
