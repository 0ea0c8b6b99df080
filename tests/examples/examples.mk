# The larger examples, on the executor.
shpool_test_scripts += tests/examples/larger.sh
EXTRA_DIST += tests/examples/decode.py
if HAVE_CMOCKA
shpool_cxx_tests += tests/examples/test_decode
tests_examples_test_decode_SOURCES = tests/examples/test_decode.cc
endif
