# The Python package, without a GPU; with one: pools.sh and torch.sh of tests/gpu/python.
shpool_test_scripts += tests/python/python.sh
EXTRA_DIST += tests/python/test_layout.py tests/python/test_numba.py \
	tests/python/test_numba_memory.py tests/python/test_package.py \
	tests/python/test_torch.py tests/python/trial.py
