# The Python package, without a GPU; with one: tests/gpu/torch.sh and tests/gpu/python.sh.
shpool_test_scripts += tests/python/python.sh
EXTRA_DIST += tests/python/test_layout.py tests/python/test_numba.py tests/python/test_package.py \
	tests/python/trial.py
