shpool_test_scripts += tests/check/check.sh
EXTRA_DIST += tests/check/scene.cuh tests/check/scenes.cu tests/check/scenes_correct.cu \
	tests/check/scenes_groups.cu tests/check/scenes_host.cu tests/check/slowdown.cu
