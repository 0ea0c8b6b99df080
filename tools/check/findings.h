/* SPDX-License-Identifier: BSD-3-Clause */
/* shpool-check: the findings as SARIF 2.1.0 and as JUnit's XML. */
#ifndef SHPOOL_CHECK_FINDINGS_H
#define SHPOOL_CHECK_FINDINGS_H

/**
 * Write the findings of a run.
 * @param [in] log    the program's lines (check/report.c); a missing file: nothing was found
 * @param [in] sarif  a path or NULL; so is junit
 * @param [in] exited the program's exit status: if it is not 0, JUnit has a failure in any case
 * @return 0, or -1 and stderr says why
 */
int check_findings_write(const char *log, const char *sarif, const char *junit, const char *source,
                         int exited);

#endif /* SHPOOL_CHECK_FINDINGS_H */
