/* SPDX-License-Identifier: BSD-3-Clause */
/* MGPU's enumerations, for programs that include them alone. */
#ifndef SHPOOL_COMPAT_MGPUENUMS_H
#define SHPOOL_COMPAT_MGPUENUMS_H

namespace mgpu {
enum MgpuBounds { MgpuBoundsLower, MgpuBoundsUpper };
enum MgpuScanType { MgpuScanTypeExc, MgpuScanTypeInc };
enum MgpuSearchType {
    MgpuSearchTypeNone, MgpuSearchTypeIndex, MgpuSearchTypeMatch, MgpuSearchTypeIndexMatch
};
enum MgpuJoinKind { MgpuJoinKindInner, MgpuJoinKindLeft, MgpuJoinKindRight, MgpuJoinKindOuter };
enum MgpuSetOp { MgpuSetOpIntersection, MgpuSetOpUnion, MgpuSetOpDiff, MgpuSetOpSymDiff };
} // namespace mgpu

#endif /* SHPOOL_COMPAT_MGPUENUMS_H */
