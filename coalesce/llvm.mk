# The clang plugin: not by libtool, which makes no module in a tree with --disable-shared, and not
# with CFLAGS, whose sanitizers clang and opt do not have.  LLVM's symbols come from the program
# that loads it.
shpool_llvm_sources = \
	coalesce/llvm_block.c \
	coalesce/llvm_flow.c \
	coalesce/llvm_forms.c \
	coalesce/llvm_helper.c \
	coalesce/llvm_kernels.c \
	coalesce/llvm_lint.c \
	coalesce/llvm_map.c \
	coalesce/llvm_memcpy.c \
	coalesce/llvm_pass.c \
	coalesce/llvm_prepare.c \
	coalesce/llvm_read.c \
	coalesce/llvm_rewrite.c \
	coalesce/llvm_transpose.c \
	coalesce/llvm_values.c
shpool_llvm_headers = \
	coalesce/llvm_flow.h \
	coalesce/llvm_forms.h \
	coalesce/llvm_helper.h \
	coalesce/llvm_kernels.h \
	coalesce/llvm_lint.h \
	coalesce/llvm_map.h \
	coalesce/llvm_pass.h \
	coalesce/llvm_prepare.h \
	coalesce/llvm_read.h \
	coalesce/llvm_rewrite.h \
	coalesce/llvm_text.h \
	coalesce/llvm_values.h
EXTRA_DIST += $(shpool_llvm_sources) $(shpool_llvm_headers) coalesce/plugin.cpp

if HAVE_LLVM
shpoolplugindir      = $(libdir)/shpool
shpoolplugin_DATA    = coalesce/shpool-coalesce.so
shpool_plugin_core   = $(filter %.c,$(libshpool_coalesce_la_SOURCES))
shpool_plugin_objects = \
	$(patsubst coalesce/%.c,coalesce/plugin.d/%.o,$(shpool_plugin_core) $(shpool_llvm_sources)) \
	coalesce/plugin.d/plugin.o
SHPOOL_PLUGIN_FLAGS  = -O2 -g -fPIC -fvisibility=hidden -D_GNU_SOURCE \
	-DPACKAGE_VERSION='"$(PACKAGE_VERSION)"' -I$(top_srcdir)/coalesce -MMD -MP $(SHPOOL_WARN)

coalesce/plugin.d/%.o: $(top_srcdir)/coalesce/%.c
	$(AM_V_CC)$(MKDIR_P) coalesce/plugin.d && $(CC) -std=c11 $(SHPOOL_PLUGIN_FLAGS) \
	  -Wstrict-prototypes -Wmissing-prototypes $(SHPOOL_LLVM_CFLAGS) -c $< -o $@
coalesce/plugin.d/plugin.o: $(top_srcdir)/coalesce/plugin.cpp
	$(AM_V_CXX)$(MKDIR_P) coalesce/plugin.d && $(CXX) $(SHPOOL_PLUGIN_FLAGS) \
	  $(SHPOOL_LLVM_CXXFLAGS) -c $< -o $@
coalesce/shpool-coalesce.so: $(shpool_plugin_objects)
	$(AM_V_CXXLD)$(CXX) -shared $(LDFLAGS) -o $@ $(shpool_plugin_objects)
-include $(shpool_plugin_objects:.o=.d)
all-local: $(shpoolplugin_DATA)
clean-local:
	rm -rf coalesce/plugin.d coalesce/shpool-coalesce.so
endif
