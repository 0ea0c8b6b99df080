/* SPDX-License-Identifier: BSD-3-Clause */
/* jansson leaves out what it has no memory for: whether a document is whole. */
#ifndef SHPOOL_TOOLS_JSON_H
#define SHPOOL_TOOLS_JSON_H

/** Watch jansson's allocations from here on.  Called before the first one of a document. */
void tool_json_watch(void);

/** 1: one of them has failed, so the document lacks something. */
int tool_json_lost(void);

#endif /* SHPOOL_TOOLS_JSON_H */
