# The programs that are installed.  What several of them share is in this folder.
include tools/info/info.mk
include tools/coalesce/coalesce.mk
include tools/bench/bench.mk
