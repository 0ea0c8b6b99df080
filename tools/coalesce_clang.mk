# clang for CUDA 13 with the plugin; only where that is built.
EXTRA_DIST += tools/coalesce_clang.in
dist_doc_DATA += doc/COALESCE-CLANG.md
rgbexampledir = $(docdir)/examples/rgb
dist_rgbexample_DATA = examples/rgb/main.cpp examples/rgb/rgb.cu examples/rgb/rgb.h
if HAVE_LLVM
bin_SCRIPTS = tools/shpool-coalesce-clang
all-local: $(bin_SCRIPTS)
tools/shpool-coalesce-clang: $(top_srcdir)/tools/coalesce_clang.in Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && sed -e 's|@CLANGXX[@]|$(SHPOOL_LLVM_BINDIR)/clang++|' \
	  -e 's|@PLUGIN[@]|$(shpoolplugindir)/shpool-coalesce.so|' \
	  $(top_srcdir)/tools/coalesce_clang.in >$@.tmp && chmod +x $@.tmp && mv $@.tmp $@
CLEANFILES += tools/shpool-coalesce-clang
endif
