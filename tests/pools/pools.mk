# Block allocators and heaps, on the executor.
libshpool_tests_la_SOURCES += tests/pools/heap_model.c
noinst_HEADERS += \
	tests/pools/calls.h \
	tests/pools/explore_pool.h \
	tests/pools/explore_warp.h \
	tests/pools/group_trial.h \
	tests/pools/heap_model.h \
	tests/pools/heap_trial.h \
	tests/pools/scene.h \
	tests/pools/script.h \
	tests/pools/stray_trial.h \
	tests/pools/trace_trial.h
if HAVE_CMOCKA
shpool_cmocka_tests += \
	tests/pools/test_after \
	tests/pools/test_after_explore \
	tests/pools/test_arena \
	tests/pools/test_checked \
	tests/pools/test_cluster \
	tests/pools/test_cluster_explore \
	tests/pools/test_conformance \
	tests/pools/test_crowd \
	tests/pools/test_cxx \
	tests/pools/test_damage \
	tests/pools/test_explore \
	tests/pools/test_explore_planes \
	tests/pools/test_geometry \
	tests/pools/test_group \
	tests/pools/test_group_explore \
	tests/pools/test_group_explore_planes \
	tests/pools/test_group_misuse \
	tests/pools/test_group_search \
	tests/pools/test_init \
	tests/pools/test_lock \
	tests/pools/test_misuse \
	tests/pools/test_policy \
	tests/pools/test_report \
	tests/pools/test_row \
	tests/pools/test_scan \
	tests/pools/test_simt_pool \
	tests/pools/test_spill \
	tests/pools/test_stage \
	tests/pools/test_stray \
	tests/pools/test_stray_calls \
	tests/pools/test_trace \
	tests/pools/test_trace_edges \
	tests/pools/test_wait \
	tests/pools/test_wait_schedules \
	tests/pools/test_wait_turns \
	tests/pools/test_warp_explore
tests_pools_test_cxx_SOURCES = tests/pools/test_cxx.cc
tests_pools_test_explore_planes_SOURCES = tests/pools/test_explore.c
tests_pools_test_explore_planes_CPPFLAGS = $(AM_CPPFLAGS) -DSHPOOL_INLINE=planes
tests_pools_test_group_explore_planes_SOURCES = tests/pools/test_group_explore.c
tests_pools_test_group_explore_planes_CPPFLAGS = $(AM_CPPFLAGS) -DSHPOOL_INLINE=planes
shpool_tests += tests/pools/fuzz_heap
tests_pools_fuzz_heap_SOURCES = tests/pools/fuzz_heap.c $(shpool_fuzz_main)
endif

# The tests of the tests.
shpool_test_scripts += tests/pools/planted.sh
