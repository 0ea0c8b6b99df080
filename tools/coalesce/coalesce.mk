bin_PROGRAMS += shpool-coalesce
shpool_coalesce_SOURCES = \
	tools/coalesce/coalesce.c \
	tools/coalesce/file.c \
	tools/coalesce/json.c \
	tools/coalesce/lint.c \
	tools/coalesce/nvcc.c \
	tools/coalesce/options.c \
	tools/coalesce/tool.h
# how LLVM IR is read, or that it is not
if HAVE_LLVM
shpool_coalesce_SOURCES += tools/coalesce/llvm.c
else
shpool_coalesce_SOURCES += tools/coalesce/no_llvm.c
endif
EXTRA_DIST += tools/coalesce/llvm.c tools/coalesce/no_llvm.c tools/coalesce/survey.sh
shpool_coalesce_CPPFLAGS = $(AM_CPPFLAGS) -DPLUGIN='"$(libdir)/shpool/shpool-coalesce.so"' \
	-DLLVM_LIBRARY='"$(SHPOOL_LLVM_LIBRARY)"'
shpool_coalesce_LDADD = tools/libtools.a libshpool_core.la

# clang for CUDA 13 with the plugin; only where that is built.
EXTRA_DIST += tools/coalesce/clang.in
rgbexampledir = $(docdir)/examples/rgb
dist_rgbexample_DATA = examples/rgb/main.cpp examples/rgb/rgb.cu examples/rgb/rgb.h
if HAVE_LLVM
bin_SCRIPTS = tools/shpool-coalesce-clang
all-local: $(bin_SCRIPTS)
tools/shpool-coalesce-clang: $(top_srcdir)/tools/coalesce/clang.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed -e 's|@CLANGXX[@]|$(SHPOOL_LLVM_BINDIR)/clang++|' \
	  -e 's|@PLUGIN[@]|$(shpoolplugindir)/shpool-coalesce.so|' \
	  $(top_srcdir)/tools/coalesce/clang.in >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
CLEANFILES += tools/shpool-coalesce-clang
endif
