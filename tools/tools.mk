# The programs that are installed.  The library has what they share, and all of shpool-bench but its
# main() and what nvcc compiles; tests link it.
noinst_LIBRARIES += tools/libtools.a
tools_libtools_a_SOURCES = tools/input.c tools/input.h tools/json.c tools/json.h tools/message.c \
	tools/message.h tools/options.c tools/options.h tools/output.c tools/output.h
include tools/info/info.mk
include tools/check/check.mk
include tools/coalesce/coalesce.mk
include tools/bench/bench.mk
