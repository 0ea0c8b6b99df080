# SPDX-License-Identifier: BSD-3-Clause
"""A PyTorch operator whose kernel has a pool for each block: python3 torch_rows.py

Builds torch_rows.cu, and calls it as it is, under torch.compile, in a CUDA graph, and on another
stream.  Exit: 0; 1: a wrong result; 77: no PyTorch or no GPU.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PAYLOAD = 24 * 1024


def load_operator():
    """torch.ops.shpool_rows.row_medians, opaque to torch.compile."""
    import torch
    from torch.utils.cpp_extension import load
    import shpool.torch

    load("shpool_rows", [os.path.join(HERE, "torch_rows.cu")], is_python_module=False,
         **shpool.torch.extension())

    @torch.library.register_fake("shpool_rows::row_medians")
    def _(offsets, values, payload_bytes):
        return values.new_empty(offsets.numel() - 1)

    return torch.ops.shpool_rows.row_medians


def rows_of(torch, seed):
    """Offsets, values and their medians."""
    torch.manual_seed(seed)
    lengths = torch.randint(1, 64, (10_000,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    values = torch.rand(int(offsets[-1]))
    want = torch.stack([row.sort().values[len(row) // 2]
                        for row in values.split(lengths.tolist())])
    return offsets.cuda(), values.cuda(), want.cuda()


def main():
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)

    medians = load_operator()
    offsets, values, want = rows_of(torch, 1)
    results = {"eager": torch.equal(medians(offsets, values, PAYLOAD), want)}

    def twice(x):
        return medians(offsets, x * 2, PAYLOAD) + 1

    compiled = torch.compile(twice, fullgraph=True)
    results["torch.compile"] = torch.allclose(compiled(values), want * 2 + 1)

    graph = torch.cuda.CUDAGraph()
    static = values.clone()
    with torch.cuda.graph(graph):
        captured = medians(offsets, static, PAYLOAD)
    static.copy_(values + 3)
    graph.replay()
    results["CUDA graph"] = torch.allclose(captured, want + 3)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        late = values * 4  # ready only after the sleep: the operator must be ordered after it
        on_side = medians(offsets, late, PAYLOAD)
    torch.cuda.current_stream().wait_stream(side)
    results["stream"] = torch.equal(on_side, want * 4)

    try:
        medians(offsets, values, 1 << 20)
        results["too much is an error"] = False
    except RuntimeError as error:
        results["too much is an error"] = "bytes" in str(error)
    for name, good in results.items():
        print(f"{name}: {'ok' if good else 'WRONG'}")
    sys.exit(0 if all(results.values()) else 1)


if __name__ == "__main__":
    main()
