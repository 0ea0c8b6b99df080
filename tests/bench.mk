# shpool-bench's commands that need a GPU, with a fake driver and made-up rows.
if HAVE_CMOCKA
shpool_cmocka_tests += tests/test_bench_gpu
tests_test_bench_gpu_SOURCES = \
	tests/test_bench_gpu.c \
	tools/bench.h \
	tools/bench_command.c \
	tools/bench_facts.c \
	tools/bench_json.c \
	tools/bench_list.c \
	tools/bench_loadstore.c \
	tools/bench_loadstore.h \
	tools/bench_loadstore_json.c \
	tools/bench_memory.c \
	tools/bench_memory.h \
	tools/bench_record.c \
	tools/message.c \
	tools/message.h
# flags of its own: the tool compiles the same files with its own
tests_test_bench_gpu_CFLAGS  = $(AM_CFLAGS) $(JANSSON_CFLAGS)
tests_test_bench_gpu_LDADD   = $(shpool_device_ldadd) $(JANSSON_LIBS)
endif
