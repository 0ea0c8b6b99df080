/* SPDX-License-Identifier: BSD-3-Clause */
/* In builds without LLVM: IR is refused. */
#include "tool.h"

int tool_lint_llvm(const char *path, const ptx_request *request, coalesce_report *report)
{
    (void)request;
    (void)report;
    return tool_failed("%s: this build does not read LLVM IR; configure it --with-llvm, or lint "
                       "the PTX", path);
}
