# Recording, on the executor.
noinst_HEADERS += tests/trace_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += tests/test_trace
endif
