# The CPU block executor.  Never instrumented by ThreadSanitizer itself (m4/shpool_tsan.m4).
noinst_LTLIBRARIES += libshpool_simt.la
libshpool_simt_la_SOURCES = \
	simt/async.c \
	simt/async.h \
	simt/calls.c \
	simt/collective.c \
	simt/copy.c \
	simt/engine.h \
	simt/explore.c \
	simt/fiber.c \
	simt/fiber.h \
	simt/join.c \
	simt/join.h \
	simt/mbar.c \
	simt/random.c \
	simt/random.h \
	simt/report.c \
	simt/run.c \
	simt/run_fibers.c \
	simt/run_threads.c \
	simt/sync.c \
	simt/thread.c
libshpool_simt_la_CFLAGS = $(AM_CFLAGS) $(SHPOOL_NO_TSAN_CFLAGS)
