# The larger examples, on the executor.
shpool_test_scripts += tests/examples/decode.sh tests/examples/repeats.sh \
	tests/examples/sparse.sh
EXTRA_DIST += tests/examples/model.py
