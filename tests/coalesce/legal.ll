; What the rewrite in clang must keep, and what it must ask when it runs: tests/coalesce/llvm.sh
; rewrites this by force.  Functions keep_* must stay as they are; those named ask_* must be
; rewritten, with a test whether the address is global; just_* without one.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

; stores of 3 words, 12 bytes from lane to lane: what the others differ from
define ptx_kernel void @just_stores(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store i32 1, ptr %flag, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; nothing passes a release store
define ptx_kernel void @keep_release(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store atomic i32 1, ptr %flag release, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; nor a volatile one
define ptx_kernel void @keep_volatile(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store volatile i32 1, ptr %flag, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; loads do not move up over an acquire load
define ptx_kernel i32 @keep_acquire(ptr noalias %from, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %from, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %from, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %from, i64 %i, i64 2
  %a = load i32, ptr %p0, align 4
  %seen = load atomic i32, ptr %flag acquire, align 4
  %b = load i32, ptr %p1, align 4
  %c = load i32, ptr %p2, align 4
  %ab = add i32 %a, %b
  %abc = add i32 %ab, %c
  %sum = add i32 %abc, %seen
  ret i32 %sum
}

; an argument that is shared memory, through a generic address
define ptx_kernel void @keep_shared(ptr addrspace(3) %tile) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %to = addrspacecast ptr addrspace(3) %tile to ptr
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; memory of the thread's own, where an address is another place in each lane
define ptx_kernel void @keep_local() {
  %own = alloca [96 x i32], align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %own, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %own, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %own, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; behind a freeze nothing is known of what wraps
define ptx_kernel void @keep_freeze(ptr noalias %to, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t3 = mul i32 %t, 3
  %at = add i32 %t3, %n
  %at1 = add nsw i32 %at, 1
  %at2 = add nsw i32 %at, 2
  %frozen1 = freeze i32 %at1
  %frozen2 = freeze i32 %at2
  %i = sext i32 %at to i64
  %i1 = sext i32 %frozen1 to i64
  %i2 = sext i32 %frozen2 to i64
  %p0 = getelementptr i32, ptr %to, i64 %i
  %p1 = getelementptr i32, ptr %to, i64 %i1
  %p2 = getelementptr i32, ptr %to, i64 %i2
  store i32 1, ptr %p0, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; the sum of vectors carries nothing from one part to the next, the sum of their bits does
define ptx_kernel void @keep_vectors(ptr noalias %to, <2 x i32> %v, <2 x i32> %w) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %base = getelementptr [5 x i32], ptr %to, i64 %i, i64 0
  %parts = add <2 x i32> %v, %w
  %one = bitcast <2 x i32> %parts to i64
  %vbits = bitcast <2 x i32> %v to i64
  %wbits = bitcast <2 x i32> %w to i64
  %bits = add i64 %vbits, %wbits
  %p0 = getelementptr i32, ptr %base, i64 %one
  %q = getelementptr i32, ptr %base, i64 %bits
  %p1 = getelementptr i32, ptr %q, i64 1
  %p2 = getelementptr i32, ptr %q, i64 2
  store i32 1, ptr %p0, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

; a pointer of unknown origin: of a function's caller, or from memory
define void @ask_argument(ptr %to) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  store i32 2, ptr %p1, align 4
  store i32 3, ptr %p2, align 4
  ret void
}

define ptx_kernel i32 @ask_loaded(ptr %table) {
  %from = load ptr, ptr %table, align 8
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %from, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %from, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %from, i64 %i, i64 2
  %a = load i32, ptr %p0, align 4
  %b = load i32, ptr %p1, align 4
  %c = load i32, ptr %p2, align 4
  %ab = add i32 %a, %b
  %abc = add i32 %ab, %c
  ret i32 %abc
}

; inline assembly that only computes may be passed
define ptx_kernel void @just_assembly(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  %x = call i32 asm sideeffect "{.reg .b32 t;\0A mov.b32 t, $1;\0A cvt.s32.s8 $0, t;}", "=r,r"(i32 %t)
  store i32 %x, ptr %p1, align 4
  %y = call i32 asm sideeffect "{.reg .b32 t;\0A mov.b32 t, $1;\0A cvt.s32.s8 $0, t;}", "=r,r"(i32 %x)
  store i32 %y, ptr %p2, align 4
  ret void
}

; but not if it says that it changes memory
define ptx_kernel void @keep_clobber(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  %x = call i32 asm sideeffect "{cvt.s32.s8 $0, $1;}", "=r,r,~{memory}"(i32 %t)
  store i32 %x, ptr %p1, align 4
  %y = call i32 asm sideeffect "{cvt.s32.s8 $0, $1;}", "=r,r,~{memory}"(i32 %x)
  store i32 %y, ptr %p2, align 4
  ret void
}

; or has instructions that the pass does not know
define ptx_kernel void @keep_assembly(ptr noalias %to, ptr noalias %flag) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p0 = getelementptr [3 x i32], ptr %to, i64 %i, i64 0
  %p1 = getelementptr [3 x i32], ptr %to, i64 %i, i64 1
  %p2 = getelementptr [3 x i32], ptr %to, i64 %i, i64 2
  store i32 1, ptr %p0, align 4
  %x = call i32 asm sideeffect "mov.b32 $0, $1; fence.sc.gpu;", "=r,r"(i32 %t)
  store i32 %x, ptr %p1, align 4
  %y = call i32 asm sideeffect "mov.b32 $0, $1; fence.sc.gpu;", "=r,r"(i32 %x)
  store i32 %y, ptr %p2, align 4
  ret void
}
