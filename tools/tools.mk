# The programs that are installed.  This folder has the code that several of them share.
shpool_tool_sources = \
	tools/input.c \
	tools/input.h \
	tools/message.c \
	tools/message.h \
	tools/options.c \
	tools/options.h \
	tools/output.c \
	tools/output.h
# of those that print JSON
shpool_json_sources = \
	tools/json.c \
	tools/json.h
include tools/info/info.mk
include tools/coalesce/coalesce.mk
include tools/bench/bench.mk
