# The clang plugin: not by libtool, which makes no module in a tree with --disable-shared, and not
# with CFLAGS, whose sanitizers clang and opt do not have.  LLVM's symbols come from the program
# that loads it.
shpool_llvm_sources = \
	coalesce/llvm/apart.c \
	coalesce/llvm/flow.c \
	coalesce/llvm/forms.c \
	coalesce/llvm/helper.c \
	coalesce/llvm/kernels.c \
	coalesce/llvm/lint.c \
	coalesce/llvm/map.c \
	coalesce/llvm/memcpy.c \
	coalesce/llvm/pass.c \
	coalesce/llvm/prepare.c \
	coalesce/llvm/print.c \
	coalesce/llvm/read.c \
	coalesce/llvm/rewrite.c
shpool_llvm_headers = \
	coalesce/llvm/apart.h \
	coalesce/llvm/flow.h \
	coalesce/llvm/forms.h \
	coalesce/llvm/helper.h \
	coalesce/llvm/kernels.h \
	coalesce/llvm/lint.h \
	coalesce/llvm/map.h \
	coalesce/llvm/pass.h \
	coalesce/llvm/prepare.h \
	coalesce/llvm/read.h \
	coalesce/llvm/rewrite.h
EXTRA_DIST += $(shpool_llvm_sources) $(shpool_llvm_headers) coalesce/llvm/plugin.cpp

if HAVE_LLVM
shpoolplugindir      = $(libdir)/shpool
shpoolplugin_DATA    = coalesce/shpool-coalesce.so
shpool_plugin_core   = $(filter %.c,$(libshpool_coalesce_la_SOURCES))
shpool_plugin_objects = \
	$(patsubst %.c,coalesce/plugin.d/%.o,$(shpool_plugin_core) $(shpool_llvm_sources)) \
	coalesce/plugin.d/coalesce/llvm/plugin.o
SHPOOL_PLUGIN_FLAGS  = -O2 -g -fPIC -fvisibility=hidden -D_GNU_SOURCE \
	-DPACKAGE_VERSION='"$(PACKAGE_VERSION)"' -I$(top_srcdir) -MMD -MP $(SHPOOL_WARN) \
	$(SHPOOL_HARDENING_CFLAGS)

coalesce/plugin.d/%.o: $(top_srcdir)/%.c
	$(AM_V_CC)$(MKDIR_P) $(@D) && $(CC) -std=c11 $(SHPOOL_PLUGIN_FLAGS) \
	  -Wstrict-prototypes -Wmissing-prototypes $(SHPOOL_LLVM_CFLAGS) -c $< -o $@
coalesce/plugin.d/coalesce/llvm/plugin.o: $(top_srcdir)/coalesce/llvm/plugin.cpp
	$(AM_V_CXX)$(MKDIR_P) $(@D) && $(CXX) $(SHPOOL_PLUGIN_FLAGS) \
	  $(SHPOOL_LLVM_CXXFLAGS) -c $< -o $@
coalesce/shpool-coalesce.so: $(shpool_plugin_objects)
	$(AM_V_CXXLD)$(CXX) -shared $(SHPOOL_HARDENING_LDFLAGS) $(LDFLAGS) -o $@ $(shpool_plugin_objects)
-include $(shpool_plugin_objects:.o=.d)
all-local: $(shpoolplugin_DATA)
shpool_clean += clean-plugin
clean-plugin:
	rm -rf coalesce/plugin.d coalesce/shpool-coalesce.so
endif
