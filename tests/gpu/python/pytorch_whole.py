# SPDX-License-Identifier: BSD-3-Clause
"""What PyTorch's own allocator offers, over libshpool: python3 tests/gpu/python/pytorch_whole.py

One process, shpool.torch.enable() with its C++ part.  The package shpool is on PYTHONPATH or
installed.  Exit: 0; 1: a check failed; 77: no PyTorch, no GPU, or no C++ part.
"""
import contextlib
import gc
import os
import re
import subprocess
import sys
import threading
import unittest
import warnings

import pytorch_programs

pytorch_programs.need_gpu()
import torch
import shpool.torch

MIB = 1 << 20


def memory(mib):
    return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")


def clean():
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


class Whole(unittest.TestCase):
    def setUp(self):
        clean()

    # ---- out of memory ----

    def test_shortage_is_an_exception_and_the_program_goes_on(self):
        total = torch.cuda.get_device_properties(0).total_memory
        failed = torch.cuda.memory_stats()["num_ooms"]
        seen = []
        torch._C._cuda_attach_out_of_memory_observer(lambda *numbers: seen.append(numbers))
        torch.cuda.set_per_process_memory_fraction(4096 * MIB / total)
        held = []
        try:
            with self.assertRaises(torch.OutOfMemoryError) as caught:
                while len(held) < 100:
                    held.append(memory(256))
            text = str(caught.exception)
            self.assertRegex(text, r"Tried to allocate 256\.00 MiB\. GPU 0 has a total capacity of "
                             r"[\d.]+ GiB of which [\d.]+ GiB is free\. 4\.00 GiB allowed; Of the "
                             r"allocated memory [\d.]+ GiB is allocated by PyTorch, (?:[\d.]+ \w+ "
                             r"by its graphs and pools, )?and [\d.]+ \w+ is reserved by PyTorch "
                             r"but unallocated, in pieces of at most ")
            self.assertTrue(14 <= len(held) <= 16, len(held))
            self.assertTrue(all(x.data_ptr() for x in held))
            self.assertEqual(torch.cuda.memory_stats()["num_ooms"], failed + 1)
            self.assertEqual(len(seen), 1)
            del held[::2]
            held.append(memory(256))
            x = torch.ones(1000, device="cuda")
            self.assertEqual(float(x.sum()), 1000)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)

    def test_requests_that_no_device_can_serve(self):
        for bytes_asked, text in ((1 << 50, r"Tried to allocate 1048576\.00 GiB"),
                                  (1 << 61, "Tried to allocate more than 1EB memory")):
            with self.assertRaisesRegex(torch.OutOfMemoryError, text):
                torch.empty(bytes_asked, dtype=torch.uint8, device="cuda")
        self.assertEqual(torch.empty(0, device="cuda").data_ptr(), 0)

    def test_idle_memory_of_one_serves_the_other(self):
        """Pools are served by PyTorch's own allocator, and each returns what it does not use."""
        most = torch.cuda.mem_get_info()[0] * 6 // 10 // MIB
        x = memory(most)
        del x
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            x = memory(most)
        del x, pool
        self.assertGreater(memory(most).data_ptr(), 0)

    def test_devices_that_libshpool_does_not_serve(self):
        for number in (64, 127):
            with self.assertRaisesRegex(RuntimeError, f"devices 0 to 63, not {number}|nvalid dev"):
                torch._C._cuda_memoryStats(number)

    # ---- statistics ----

    def test_statistics_count_as_pytorch_does(self):
        before = torch.cuda.memory_stats()
        x = torch.empty(3 * MIB + 1, dtype=torch.uint8, device="cuda")
        y = torch.empty(5, device="cuda")
        now = torch.cuda.memory_stats()
        for name, more in (("allocated_bytes.all.current", 3 * MIB + 512 + 512),
                           ("allocated_bytes.small_pool.current", 512),
                           ("requested_bytes.all.current", 3 * MIB + 1 + 20),
                           ("active_bytes.all.current", 3 * MIB + 1024),
                           ("active.all.current", 2),
                           ("allocation.all.current", 2), ("allocation.all.allocated", 2)):
            self.assertEqual(now[name] - before[name], more, name)
        peak = torch.cuda.max_memory_allocated()
        self.assertEqual(peak, torch.cuda.memory_allocated())
        self.assertGreaterEqual(torch.cuda.memory_reserved(), peak)
        self.assertGreaterEqual(torch.cuda.max_memory_reserved(), torch.cuda.memory_reserved())
        del x, y
        self.assertEqual(torch.cuda.memory_allocated(), before["allocated_bytes.all.current"])
        self.assertEqual(torch.cuda.max_memory_allocated(), peak)
        torch.cuda.reset_peak_memory_stats()
        self.assertEqual(torch.cuda.max_memory_allocated(), torch.cuda.memory_allocated())
        torch.cuda.reset_accumulated_memory_stats()
        self.assertEqual(torch.cuda.memory_stats()["allocation.all.allocated"], 0)
        self.assertIn("Allocated memory", torch.cuda.memory_summary())
        ours = shpool.torch.memory_stats()
        self.assertGreaterEqual(ours["reserved_bytes.all.current"],
                                ours["allocated_bytes.all.current"])
        self.assertEqual(ours["allocation.all.allocated"] - ours["allocation.all.freed"],
                         ours["allocation.all.current"])
        if hasattr(torch.accelerator, "memory_allocated"):
            self.assertEqual(torch.accelerator.memory_allocated(), torch.cuda.memory_allocated())

    def test_empty_cache_returns_memory(self):
        x = memory(4096)
        free = torch.cuda.mem_get_info()[0]
        del x
        self.assertGreaterEqual(torch.cuda.memory_reserved(), 4096 * MIB)
        torch.cuda.empty_cache()
        self.assertLess(torch.cuda.memory_reserved(), 100 * MIB)
        self.assertGreater(torch.cuda.mem_get_info()[0], free)  # other programs use some

    def test_raw_memory(self):
        before = torch.cuda.memory_allocated()
        for stream in (None, torch.cuda.Stream()):
            pointer = torch.cuda.caching_allocator_alloc(MIB, stream=stream)
            self.assertEqual(torch.cuda.memory_allocated(), before + MIB)
            torch.cuda.caching_allocator_delete(pointer)
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_without_caching(self):
        held = memory(128)
        memory(64)
        before = torch.cuda.memory_stats()
        torch.cuda.caching_allocator_enable(False)
        try:
            self.assertLess(torch.cuda.memory_reserved(), before["reserved_bytes.all.current"])
            x = torch.ones(MIB, device="cuda")
            self.assertEqual(torch.cuda.memory_stats()["allocation.all.allocated"],
                             before["allocation.all.allocated"])
            reserved = torch.cuda.memory_reserved()
            del held
            self.assertLess(torch.cuda.memory_reserved(), reserved - 64 * MIB)
        finally:
            torch.cuda.caching_allocator_enable(True)
        self.assertEqual(float(x.sum()), MIB)
        del x
        self.assertGreaterEqual(memory(1).data_ptr(), 1)

    def test_memory_of_a_pool_dies_without_caching(self):
        pool = torch.cuda.MemPool()
        with torch.cuda.use_mem_pool(pool):
            x, y = (torch.full((MIB,), value, device="cuda") for value in (1.0, 2.0))
        torch.cuda.caching_allocator_enable(False)
        try:
            del x  # the first of a segment that y is in
        finally:
            torch.cuda.caching_allocator_enable(True)
        with torch.cuda.use_mem_pool(pool):
            z = torch.full((MIB,), 3.0, device="cuda")
        self.assertEqual((float(y.sum()), float(z.sum())), (2.0 * MIB, 3.0 * MIB))

    def test_profiler_counts_memory(self):
        with torch.profiler.profile(profile_memory=True) as profile:
            x = memory(8)
        self.assertGreaterEqual(max(event.self_device_memory_usage for event in profile.events()),
                                8 * MIB)
        del x

    # ---- snapshots ----

    def test_snapshot_has_every_block_and_event(self):
        from torch.cuda import _memory_viz

        torch.cuda.memory._record_memory_history()
        try:
            x = memory(64)
            del x
            x = torch.empty(3 * MIB + 1, dtype=torch.uint8, device="cuda")
            torch.cuda.empty_cache()
            snapshot = torch.cuda.memory._snapshot()
        finally:
            torch.cuda.memory._record_memory_history(enabled=None)
        for segment in snapshot["segments"]:
            self.assertEqual(sum(block["size"] for block in segment["blocks"]),
                             segment["total_size"])
        blocks = {block["address"]: block for segment in snapshot["segments"]
                  for block in segment["blocks"]}
        own = blocks[x.data_ptr()]
        self.assertEqual((own["state"], own["requested_size"]), ("active_allocated", 3 * MIB + 1))
        self.assertTrue(any(frame["filename"] == __file__ for frame in own["frames"]))
        actions = [(event["action"], event["size"]) for event in snapshot["device_traces"][0]]
        for event in (("alloc", 64 * MIB), ("free_requested", 64 * MIB),
                      ("free_completed", 64 * MIB), ("alloc", 3 * MIB + 1)):
            self.assertIn(event, actions)
        self.assertGreaterEqual(sum(size for action, size in actions if action == "segment_free"),
                                50 * MIB)
        self.assertEqual(sum(segment["total_size"] for segment in snapshot["segments"]),
                         torch.cuda.memory_reserved())
        for page in (_memory_viz.trace_plot(snapshot), _memory_viz.segment_plot(snapshot)):
            self.assertIn("<html", page)
        self.assertIn("MiB", _memory_viz.segsum(snapshot))

    # ---- streams, pools and graphs ----

    def overwritten(self, where, record=True):
        """A slow stream reads x, which is dropped; is its memory given to y at once?"""
        side = torch.cuda.Stream()
        wrong = 0
        for _ in range(10):
            with where():
                x = torch.full((MIB,), 1.0, device="cuda")
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.cuda._sleep(20_000_000)
                total = x.sum()
            if record:
                x.record_stream(side)
            del x
            with where():
                y = torch.full((MIB,), 2.0, device="cuda")
            torch.cuda.synchronize()
            wrong += float(total) != MIB
            del y
        return wrong

    def test_history_that_changes_while_threads_allocate(self):
        over = threading.Event()

        def allocate():
            while not over.is_set():
                memory(1)

        threads = [threading.Thread(target=allocate) for _ in range(4)]
        for one in threads:
            one.start()
        for i in range(100):
            torch.cuda.memory._record_memory_history("all" if i % 3 else None)
        over.set()
        for one in threads:
            one.join()
        torch.cuda.memory._record_memory_history(None)

    def test_record_stream(self):
        pool = torch.cuda.MemPool()
        for where in (contextlib.nullcontext, lambda: torch.cuda.use_mem_pool(pool)):
            self.assertEqual(self.overwritten(where), 0)
        self.assertGreater(self.overwritten(contextlib.nullcontext, record=False), 0)

    def test_threads_with_streams_of_their_own(self):
        wrong = []

        def work(number):
            with torch.cuda.stream(torch.cuda.Stream()):
                for i in range(300):
                    n = 1 + (i * 7919 + number * 104729) % 100_000
                    x = torch.full((n,), float(number), device="cuda")
                    y = x * 2
                    if float(y.sum()) != 2.0 * number * n:
                        wrong.append((number, i))

        threads = [threading.Thread(target=work, args=(t,)) for t in range(1, 9)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])

    def test_a_pool_serves_the_thread_that_uses_it(self):
        pool = torch.cuda.MemPool()
        begun, done = threading.Event(), threading.Event()
        others = []

        def other():
            begun.wait(60)
            others.append(memory(5))
            done.set()

        thread = threading.Thread(target=other)
        thread.start()
        with torch.cuda.use_mem_pool(pool):
            x = memory(4)
            begun.set()
            done.wait(60)
        thread.join()
        found = {block["address"] for segment in pool.snapshot() for block in segment["blocks"]}
        self.assertIn(x.data_ptr(), found)
        self.assertNotIn(others[0].data_ptr(), found)
        self.assertGreaterEqual(torch.cuda.memory_allocated(), 9 * MIB)

    def test_graphs_replay(self):
        x = torch.zeros(MIB, device="cuda")
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            (x * 3 + 1).sum()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            y = (x * 3 + 1) * (x - 2)
        noise = [torch.full((MIB,), 9.0, device="cuda") for _ in range(8)]
        for value in range(1, 6):
            x.fill_(value)
            graph.replay()
            torch.cuda.synchronize()
            self.assertTrue(bool((y == (value * 3 + 1) * (value - 2)).all()))
            self.assertTrue(all(bool((n == 9).all()) for n in noise))

    def test_graphed_callables(self):
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(),
                                    torch.nn.Linear(64, 64)).cuda()
        x = torch.randn(32, 64, device="cuda", requires_grad=True)
        with torch.no_grad():
            expected = model(x)
        graphed = torch.cuda.make_graphed_callables(model, (x,))
        self.assertTrue(torch.allclose(graphed(x), expected, atol=1e-5))
        graphed(x).sum().backward()

    def test_graph_trees(self):
        """torch.compile(mode="reduce-overhead"), trained, with three shapes."""
        torch.manual_seed(1)
        counters = torch._dynamo.utils.counters
        model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(),
                                    torch.nn.Linear(128, 64)).cuda()
        compiled = torch.compile(model, mode="reduce-overhead", dynamic=False)
        counters.clear()
        for step in range(12):
            x = torch.randn(16 << (step % 3), 64, device="cuda")
            torch.compiler.cudagraph_mark_step_begin()
            loss = compiled(x).square().mean()
            expected = model(x).square().mean()
            self.assertTrue(torch.allclose(loss, expected, rtol=1e-2), (loss, expected))
            loss.backward()
            model.zero_grad(set_to_none=True)
        self.assertEqual(counters["inductor"]["cudagraph_skips"], 0)

    # ---- the rest ----

    def test_cudnn_benchmark(self):
        torch.backends.cudnn.benchmark = True
        try:
            layer = torch.nn.Conv2d(16, 32, 3).cuda()
            layer(torch.randn(4, 16, 64, 64, device="cuda")).sum().backward()
            torch.cuda.synchronize()
        finally:
            torch.backends.cudnn.benchmark = False

    def test_pinned_batches(self):
        data = torch.utils.data.TensorDataset(torch.arange(4096.0))
        loader = torch.utils.data.DataLoader(data, batch_size=64, pin_memory=True)
        total = sum(batch.cuda(non_blocking=True).sum() for (batch,) in loader)
        self.assertEqual(float(total), 4096 * 4095 / 2)

    def test_sharing_is_refused_with_a_reason(self):
        x = memory(1)
        with self.assertRaisesRegex(RuntimeError, "tensor.cpu()"):
            x.untyped_storage()._share_cuda_()
        with torch.cuda.use_mem_pool(torch.cuda.MemPool()):
            y = memory(2)
        self.assertTrue(y.untyped_storage()._share_cuda_())

    def test_enable_again_has_no_effect(self):
        shpool.torch.enable()
        self.assertEqual(torch.cuda.get_allocator_backend(), "shpool")
        with self.assertRaisesRegex(shpool.Error, "one of the two"):
            shpool.torch.mem_pool()

    def test_enable_after_the_program_has_used_the_gpu(self):
        subprocess.run([sys.executable, "-c", LATE], check=True, timeout=60)

    def test_a_fraction_in_the_environment_is_a_limit(self):
        said = subprocess.run([sys.executable, "-c", LIMITED], check=True, timeout=60, text=True,
                              env=dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="per_process_memory_"
                                                                           "fraction:0.25"),
                              stderr=subprocess.PIPE).stderr
        self.assertNotIn("PYTORCH_CUDA_ALLOC_CONF", said)


LATE = """if True:
    import torch
    torch.cuda.set_device(0)
    torch.cuda.set_per_process_memory_fraction(0.5)
    early = torch.arange(1 << 20, device="cuda")
    idle = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    del idle
    import shpool.torch
    shpool.torch.enable()
    assert torch.cuda.get_allocator_backend() == "shpool"
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    assert torch.cuda.memory_reserved() < 64 << 20, "idle memory was kept"
    before = torch.cuda.memory_allocated()
    assert before == early.nbytes
    from torch.cuda import _gpu_trace  # for torch.cuda._sanitizer
    made, freed = [], []
    _gpu_trace.register_callback_for_memory_allocation(made.append)
    _gpu_trace.register_callback_for_memory_deallocation(freed.append)
    torch._C._activate_gpu_trace()
    late = torch.arange(1 << 20, device="cuda")
    assert torch.equal(early, late) and shpool.torch.stats().live_count >= 1
    early.record_stream(torch.cuda.Stream())
    address = late.data_ptr()
    del early, late
    assert address in made and address in freed
    assert torch.cuda.memory_allocated() == 0
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0
"""
LIMITED = """if True:
    import torch, shpool.torch
    shpool.torch.enable()
    assert abs(torch.cuda.get_per_process_memory_fraction() - 0.25) < 1e-6
    total = torch.cuda.get_device_properties(0).total_memory
    half = torch.empty(total // 8, dtype=torch.uint8, device="cuda")
    try:
        torch.empty(total // 8 + (64 << 20), dtype=torch.uint8, device="cuda")
        raise AssertionError("no limit")
    except torch.OutOfMemoryError as error:
        assert " allowed; " in str(error), error
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.empty(total // 8 + (64 << 20), dtype=torch.uint8, device="cuda")
"""

if __name__ == "__main__":
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        shpool.torch.enable()
    if torch.cuda.get_allocator_backend() != "shpool":
        print("skipped:", *(re.sub(r"\s+", " ", str(one.message)) for one in said))
        sys.exit(77)
    unittest.main(verbosity=2, **({"durations": 9} if sys.version_info >= (3, 12) else {}))
