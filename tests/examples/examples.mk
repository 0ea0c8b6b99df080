# The larger examples, on the executor.
shpool_test_scripts += tests/examples/larger.sh
EXTRA_DIST += tests/examples/decode.py
