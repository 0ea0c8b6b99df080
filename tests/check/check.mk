shpool_test_scripts += tests/check/check.sh
EXTRA_DIST += tests/check/scenes.cu
