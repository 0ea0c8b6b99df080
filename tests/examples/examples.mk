# The larger examples, on the executor.
shpool_test_scripts += tests/examples/larger.sh
check_PROGRAMS += tests/examples/tiles
EXTRA_DIST += tests/examples/decode.py
tests_examples_tiles_SOURCES = tests/examples/tiles.cc
tests_examples_tiles_LDADD   = libshpool_core.la
