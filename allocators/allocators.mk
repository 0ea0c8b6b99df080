# THE list of allocators, in alphabetical order.  To add one: make the folder allocators/NAME/ (copy
# allocators/null/, change the name in its .mk) and add one line here.
include allocators/arena/arena.mk
include allocators/bitmap/bitmap.mk
include allocators/cluster_bitmap/cluster_bitmap.mk
include allocators/freelist/freelist.mk
include allocators/native/native.mk
include allocators/null/null.mk
include allocators/rbtree/rbtree.mk
include allocators/thread_best_fit/thread_best_fit.mk
include allocators/thread_bitmap/thread_bitmap.mk
include allocators/thread_first_fit/thread_first_fit.mk
include allocators/warp_best_fit/warp_best_fit.mk
include allocators/warp_first_fit/warp_first_fit.mk
