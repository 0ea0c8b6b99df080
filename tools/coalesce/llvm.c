/* SPDX-License-Identifier: BSD-3-Clause */
/* In builds with LLVM: IR is read by the clang plugin, which is loaded only when there is IR, and
 * LLVM's library with it: compiling with nvcc must not wait for either. */
#include "tool.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "coalesce/llvm/lint.h"

/* The plugin's function; NULL: tool_failed() was called. */
static coalesce_llvm_lint_function *load(const char *path)
{
    const char *plugin = getenv("SHPOOL_COALESCE_PLUGIN");
    void *library, *handle;
    coalesce_llvm_lint_function *function;

    plugin = (plugin != NULL) ? plugin : PLUGIN;
    library = dlopen(LLVM_LIBRARY, RTLD_NOW | RTLD_GLOBAL); /* the plugin's symbols are there */
    if (library == NULL) {
        (void)tool_failed("%s: LLVM is needed to read it: %s", path, dlerror());
        return NULL;
    }
    handle = dlopen(plugin, RTLD_NOW);
    function = (handle == NULL)
                   ? NULL
                   : (coalesce_llvm_lint_function *)(uintptr_t)dlsym(handle, COALESCE_LLVM_LINT);
    if (function == NULL) {
        (void)tool_failed("%s: the clang plugin is needed to read it: %s (SHPOOL_COALESCE_PLUGIN "
                          "names another)",
                          path, dlerror());
    }
    return function; /* both stay loaded */
}

int tool_lint_llvm(const char *path, const ptx_request *request, coalesce_report *report)
{
    coalesce_llvm_lint_function *lint = load(path);
    coalesce_llvm_lint_request want = { request->plan, request->skip, request->skips,
                                        request->remarks, request->waste };
    char error[1024];

    if (lint == NULL) {
        return TOOL_NO_INPUT;
    }
    return lint(path, &want, report, error, sizeof(error)) ? TOOL_OK
                                                           : tool_failed("%s: %s", path, error);
}
