# Lint and rewrite of memory accesses.
libshpool_core_la_SOURCES += coalesce/coalesce.c
include coalesce/plan/plan.mk
include coalesce/ptx/ptx.mk
include coalesce/llvm/llvm.mk
