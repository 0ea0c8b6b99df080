# The programs that are installed.  This folder has the code that several of them share.
shpool_tool_sources = \
	tools/input.c \
	tools/input.h \
	tools/json.c \
	tools/json.h \
	tools/message.c \
	tools/message.h \
	tools/options.c \
	tools/options.h \
	tools/output.c \
	tools/output.h
include tools/info/info.mk
include tools/check/check.mk
include tools/coalesce/coalesce.mk
include tools/bench/bench.mk
