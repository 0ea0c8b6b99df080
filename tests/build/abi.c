/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes of the structures that programs, plugins and the library share, and offsets of their
 * fields.  Only compiled, by tests/build/symbols.sh; doc/ABI.md says when a number here may change.
 */
#include <stddef.h>

#include <shpool/coalesce.h>
#include <shpool/device.h>
#include <shpool/executor.h>
#include <shpool/module.h>
#include <shpool/shpool.h>
#include <shpool/trace.h>

#define STRUCT(_type, _bytes)                                                                      \
    _Static_assert(sizeof(_type) == (_bytes), "the size of " #_type);                              \
    void layout_of_##_type(const _type *that);                                                     \
    void layout_of_##_type(const _type *that)
#define AT(_field, _offset)                                                                        \
    _Static_assert(offsetof(__typeof__(*that), _field) == (_offset), "the offset of " #_field)

STRUCT(shpool_bad_free, 32) {
    AT(block, 0); AT(thread, 4); AT(reason, 8); AT(site, 12); AT(address, 16); AT(malloc_site, 24);
    AT(malloc_thread, 28);
}
STRUCT(shpool_layout, 16) { AT(bytes, 0); AT(largest, 4); AT(word, 8); }
STRUCT(shpool_leak, 32) {
    AT(block, 0); AT(thread, 4); AT(site, 8); AT(usable, 12); AT(address, 16); AT(reserved, 24);
}
STRUCT(shpool_pool, 224) {
    AT(abi, 0); AT(bytes, 4); AT(allocator, 8); AT(flags, 12); AT(shared_bytes, 16);
    AT(area_bytes, 20); AT(pools, 24); AT(pool_bytes, 28); AT(threads_per_pool, 32);
    AT(block_threads, 36); AT(pool_magic, 40); AT(alignment, 44); AT(largest, 48); AT(scope, 52);
    AT(word, 56); AT(allocate, 64); AT(release, 72); AT(allocate_group, 80); AT(release_group, 88);
    AT(table, 96); AT(report, 104); AT(name, 112); AT(system_bytes, 144); AT(spill_bytes, 148);
    AT(spill_shift, 152); AT(spill_slots, 156); AT(binding, 160); AT(reserved, 164);
    AT(image, 184); AT(library, 192); AT(reserved_pointer, 200); AT(trace, 216);
}
STRUCT(shpool_refused, 32) {
    AT(reason, 0); AT(block, 4); AT(thread, 8); AT(site, 12); AT(bytes, 16); AT(alignment, 24);
    AT(reserved32, 28);
}
STRUCT(shpool_report_data, 1232) {
    AT(abi, 0); AT(bytes, 4); AT(status, 8); AT(empty, 12); AT(blocks, 16); AT(bad_frees, 20);
    AT(mallocs, 24); AT(frees, 32); AT(failures, 40); AT(live, 48); AT(live_bytes, 56);
    AT(spills, 64); AT(peak_bytes, 72); AT(largest_free, 76); AT(corrupt, 80); AT(leaks, 84);
    AT(bad_free, 88); AT(leak, 600); AT(native_spills, 1112); AT(waits, 1120); AT(cycles, 1128);
    AT(slowest, 1136); AT(fastest, 1140); AT(unused_bytes, 1144); AT(broken, 1148);
    AT(timed, 1152); AT(trace, 1160); AT(broken_at, 1168); AT(refusals, 1176); AT(refused, 1184);
    AT(empty_threads, 1216); AT(empty_base, 1220); AT(empty_bytes, 1224); AT(reserved32, 1228);
}
STRUCT(shpool_table, 168) {
    AT(abi, 0); AT(bytes, 4); AT(layout, 8); AT(init, 16); AT(allocate, 24); AT(release, 32);
    AT(resize, 40); AT(usable, 48); AT(largest, 56); AT(walk, 64); AT(owns, 72); AT(fini, 80);
    AT(spill, 88); AT(unspill, 96); AT(rewind, 104); AT(spilled, 112); AT(allocate_group, 120);
    AT(release_group, 128); AT(reserved, 136);
}
STRUCT(shpool_view, 28) {
    AT(base, 0); AT(bytes, 4); AT(rank, 8); AT(flags, 12); AT(word, 16); AT(area, 24);
}
STRUCT(shpool_walk, 16) { AT(broken, 0); AT(where, 4); AT(live, 8); AT(used, 12); }
STRUCT(shpool_coalesce_finding, 112) {
    AT(level, 0); AT(rule, 8); AT(file, 16); AT(line, 24); AT(column, 28); AT(function, 32);
    AT(message, 40); AT(suggestion, 48); AT(accesses, 56); AT(bytes, 60); AT(stride, 64);
    AT(sectors, 72); AT(ideal, 76); AT(record_bytes, 80); AT(used_bytes, 84); AT(loop_depth, 88);
    AT(weight, 96); AT(times, 104);
}
STRUCT(shpool_coalesce_options, 88) {
    AT(force, 0); AT(remarks, 4); AT(block, 8); AT(skip, 24); AT(skips, 32); AT(report, 40);
    AT(user, 48); AT(reserved, 56);
}
STRUCT(shpool_device_block, 56) {
    AT(ptr, 0); AT(bytes, 8); AT(base, 16); AT(stream, 24); AT(state, 32); AT(reserved, 36);
}
STRUCT(shpool_device_stats, 256) {
    AT(live_bytes, 0); AT(live_bytes_peak, 8); AT(live_count, 16); AT(live_count_peak, 24);
    AT(requested_bytes, 32); AT(idle_bytes, 40); AT(pending_bytes, 48); AT(driver_bytes, 56);
    AT(driver_bytes_peak, 64); AT(largest_idle, 72); AT(mallocs, 80); AT(frees, 88); AT(hits, 96);
    AT(hits_done, 104); AT(hits_wait, 112); AT(misses, 120); AT(driver_mallocs, 128);
    AT(driver_frees, 136); AT(events_recorded, 144); AT(retries, 152); AT(failures, 160);
    AT(reserved, 168);
}
STRUCT(shpool_random, 2500) { AT(state, 0); AT(next, 2496); }
STRUCT(shpool_context_options, 72) {
    AT(bytes, 0); AT(flags, 4); AT(device, 8); AT(reserved32, 12); AT(stream, 16);
    AT(allocator, 24); AT(pinned_bytes, 32); AT(reserved, 40);
}
STRUCT(shpool_device_properties, 360) {
    AT(name, 0); AT(ordinal, 256); AT(major, 260); AT(minor, 264); AT(sm_count, 268);
    AT(clock_khz, 272); AT(memory_clock_khz, 276); AT(memory_bus_bits, 280); AT(ecc, 284);
    AT(warp_threads, 288); AT(sm_threads, 292); AT(l2_bytes, 296); AT(shared_block_bytes, 300);
    AT(total_bytes, 304); AT(reserved, 312);
}
STRUCT(shpool_torch_pool_id, 16) { AT(high, 0); AT(low, 8); }
STRUCT(shpool_device_option, 16) { AT(key, 0); AT(value, 8); }
STRUCT(shpool_device_provider, 224) {
    AT(abi, 0); AT(bytes, 4); AT(flags, 8); AT(reserved32, 12); AT(name, 16); AT(summary, 24);
    AT(keys, 32); AT(create, 40); AT(destroy, 48); AT(malloc, 56); AT(free, 64);
    AT(record_stream, 72); AT(base, 80); AT(trim, 88); AT(set, 96); AT(stats, 104);
    AT(reset_peak, 112); AT(check, 120); AT(walk, 128); AT(stream_retire, 136);
    AT(stream_stable, 144); AT(capture_begin, 152); AT(capture_end, 160); AT(capture_release, 168);
    AT(export_handle, 176); AT(reserved, 184);
}
STRUCT(shpool_device_setup, 72) {
    AT(bytes, 0); AT(device, 4); AT(option_count, 8); AT(options, 16); AT(upstream, 24);
    AT(allocator, 32); AT(provider, 40); AT(reserved, 48);
}
STRUCT(shpool_device_handle, 64) {
    AT(magic, 0); AT(version, 4); AT(fd, 8); AT(reserved32, 12); AT(bytes, 16); AT(uuid, 24);
    AT(reserved, 40);
}
STRUCT(simt_bounds, 24) { AT(preemptions, 0); AT(max_schedules, 8); AT(max_switches, 16); }
STRUCT(simt_hooks, 16) { AT(before, 0); AT(after, 8); }
STRUCT(simt_launch, 104) {
    AT(grid, 0); AT(block, 12); AT(dynamic_bytes, 24); AT(static_bytes, 28); AT(engine, 32);
    AT(seed, 40); AT(switch_period, 48); AT(max_switches, 56); AT(timeout_ms, 64); AT(fill, 68);
    AT(cluster, 72); AT(from_zero, 84); AT(arena, 88); AT(stack_bytes, 96); AT(leavers, 100);
}
STRUCT(simt_result, 2080) {
    AT(status, 0); AT(switches, 8); AT(schedules, 16); AT(complete, 24); AT(block, 28);
    AT(text, 32);
}
STRUCT(simt_self_state, 88) {
    AT(arena, 0); AT(arena_begin, 8); AT(arena_end, 12); AT(dynamic_base, 16);
    AT(dynamic_bytes, 20); AT(countdown, 24); AT(rank, 28); AT(threads, 32); AT(block, 36);
    AT(blocks, 40); AT(thread_index, 44); AT(block_index, 56); AT(launch, 72);
    AT(cluster_rank, 80); AT(cluster_blocks, 84);
}
STRUCT(shpool_advice, 20) {
    AT(payload_bytes, 0); AT(least_bytes, 4); AT(enough_bytes, 8); AT(blocks_now, 12);
    AT(blocks_least, 16);
}
STRUCT(shpool_arch, 24) {
    AT(arch, 0); AT(shared_block, 4); AT(shared_sm, 8); AT(shared_reserved, 12);
    AT(threads_sm, 16); AT(blocks_sm, 20);
}
STRUCT(shpool_stats_data, 88) {
    AT(mallocs, 0); AT(frees, 8); AT(failures, 16); AT(live, 24); AT(live_bytes, 32);
    AT(spills, 40); AT(native_spills, 48); AT(waits, 56); AT(peak_bytes, 64);
    AT(capacity_bytes, 68); AT(fragmentation, 72); AT(contention, 76); AT(mean_cycles, 80);
    AT(slowest_cycles, 84);
}
STRUCT(shpool_blob, 32) { AT(data, 0); AT(bytes, 8); AT(cuda, 16); AT(arch, 20); AT(newer, 24); }
STRUCT(shpool_variable, 48) {
    AT(name, 0); AT(type, 8); AT(unit, 16); AT(default_value, 24); AT(text, 32); AT(value, 40);
}
STRUCT(shpool_config, 64) {
    AT(block_threads, 0); AT(payload_bytes, 4); AT(threads_per_pool, 8); AT(alignment, 12);
    AT(flags, 16); AT(total_bytes, 20); AT(shared_limit, 24); AT(spill, 28); AT(spill_bytes, 32);
    AT(spill_blocks, 36); AT(binding, 40); AT(request_bytes, 44); AT(reserved, 48);
}
STRUCT(shpool_request, 16) { AT(count, 0); AT(bytes, 4); AT(alignment, 8); AT(reserved, 12); }
STRUCT(shpool_allocator, 128) {
    AT(abi, 0); AT(bytes, 4); AT(name, 8); AT(summary, 16); AT(scope, 24); AT(caps, 28);
    AT(layout, 32); AT(simt, 40); AT(tables, 56); AT(lto_ir, 64); AT(threads_per_pool, 72);
    AT(packing, 76); AT(reserved, 80);
}
STRUCT(shpool_trace_begin, 24) { AT(word, 0); AT(bytes, 16); }
STRUCT(shpool_plugin_info, 64) {
    AT(abi, 0); AT(bytes, 4); AT(count, 8); AT(reserved32, 12); AT(allocators, 16);
    AT(library, 24); AT(reserved, 32);
}
STRUCT(shpool_device_plugin_info, 16) { AT(abi, 0); AT(count, 4); AT(providers, 8); }
