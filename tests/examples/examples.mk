# The larger examples, on the executor.
shpool_test_scripts += tests/examples/decode.sh tests/examples/repeats.sh \
	tests/examples/sparse.sh
EXTRA_DIST += tests/examples/model.py
check_PROGRAMS += tests/examples/matrix tests/examples/tiles
tests_examples_matrix_SOURCES = tests/examples/matrix.cc
tests_examples_matrix_LDADD   = libshpool_core.la
tests_examples_tiles_SOURCES = tests/examples/tiles.cc
tests_examples_tiles_LDADD   = libshpool_core.la
