# SPDX-License-Identifier: BSD-3-Clause
"""examples/decode beside PyTorch, on a GPU.

    python3 tests/gpu/python/decode.py DECODE [DECODE'S OPTIONS]

Generates the same weights, computes the same steps in float32, and compares the tokens that DECODE
prints and the first step's layers.  Then measures the step in bf16, as one CUDA graph.  Exit: 0;
1: a token or a layer differs; 77: no PyTorch or no GPU.
"""
import math
import re
import subprocess
import sys

try:
    import torch
except ImportError:
    print("no PyTorch")
    sys.exit(77)

EPSILON = 1e-5
BASE = 500000.0
NORM_1, Q, K, V, OUT, NORM_2, GATE, UP, DOWN, NORM, HEAD, KEYS, VALUES = range(13)


def made_up_hash(name, layer, rows, columns):
    """A matrix of examples/decode/weights.h's hashes; rows: a tensor."""
    mask = 0xFFFFFFFF
    c = torch.arange(columns, device="cuda", dtype=torch.int64)
    x = ((((name + 16 * layer) * 0x9E3779B1 & mask) + rows) & mask) * 0x85EBCA6B & mask
    x = (x[:, None] + c[None, :]) & mask
    x = (x ^ x >> 16) * 0x21F0AAAD & mask
    x = (x ^ x >> 15) * 0x735A2D97 & mask
    return x >> 24


def matrix(name, layer, rows, columns, dtype):
    shift = 7 + ((columns.bit_length() - 1) + 1) // 2
    out = torch.empty(rows, columns, device="cuda", dtype=dtype)
    for first in range(0, rows, 4096):
        part = torch.arange(first, min(first + 4096, rows), device="cuda", dtype=torch.int64)
        out[first:first + 4096] = (2.0 * made_up_hash(name, layer, part, columns) - 255) / 2**shift
    return out


def gains(name, layer, columns, dtype):
    zero = torch.zeros(1, device="cuda", dtype=torch.int64)
    return ((128 + made_up_hash(name, layer, zero, columns)[0] % 32) / 128).to(dtype)


class Model:
    def __init__(self, shape, context, tokens, dtype):
        """shape: layers, hidden, heads, key heads, head_dim, ff, vocab."""
        self.layers, self.hidden, self.heads, self.kv, self.dim, self.ff, self.vocab = shape
        self.dtype = dtype
        self.weights = [self.layer(i) for i in range(self.layers)]
        self.norm = gains(NORM, 0, self.hidden, dtype)
        self.head = matrix(HEAD, 0, self.vocab, self.hidden, dtype)
        self.keys = torch.zeros(self.layers, self.kv, tokens, self.dim, device="cuda", dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        for i in range(self.layers):
            for name, cache in ((KEYS, self.keys), (VALUES, self.values)):
                for h in range(self.kv):
                    rows = torch.arange(context, device="cuda", dtype=torch.int64) + h * 65536
                    if context:
                        cache[i, h, :context] = (
                            2.0 * made_up_hash(name, i, rows, self.dim) - 255) / 256
        half = torch.arange(self.dim // 2, device="cuda", dtype=torch.float64)
        angle = torch.arange(tokens, device="cuda", dtype=torch.float64)[:, None] * BASE ** (
            -2.0 * half / self.dim)
        self.cos, self.sin = angle.cos().to(dtype), angle.sin().to(dtype)
        self.places = torch.arange(tokens, device="cuda")

    def layer(self, i):
        q, kv = self.heads * self.dim, self.kv * self.dim
        make = lambda name, rows, columns: matrix(name, i, rows, columns, self.dtype)
        return dict(
            norm_1=gains(NORM_1, i, self.hidden, self.dtype),
            norm_2=gains(NORM_2, i, self.hidden, self.dtype),
            qkv=torch.cat([make(Q, q, self.hidden), make(K, kv, self.hidden),
                           make(V, kv, self.hidden)]),
            out=make(OUT, self.hidden, q),
            gate_up=torch.cat([make(GATE, self.ff, self.hidden), make(UP, self.ff, self.hidden)]),
            down=make(DOWN, self.hidden, self.ff))

    def normed(self, x, gain):
        return (x.float() * torch.rsqrt(x.float().square().mean() + EPSILON)).to(self.dtype) * gain

    def turn(self, x, position):
        a, b = x[..., :self.dim // 2], x[..., self.dim // 2:]
        cos, sin = self.cos[position], self.sin[position]
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def step(self, token, position):
        """token and position: tensors of one number, so that a graph can be made of it."""
        x = self.head[token].reshape(-1)
        streams = []
        q, kv = self.heads * self.dim, self.kv * self.dim
        for i, w in enumerate(self.weights):
            qkv = w["qkv"] @ self.normed(x, w["norm_1"])
            query = self.turn(qkv[:q].view(self.kv, -1, self.dim), position)
            key = self.turn(qkv[q:q + kv].view(self.kv, 1, self.dim), position)
            value = qkv[q + kv:].view(self.kv, 1, self.dim)
            # the cache is bf16 in any case
            self.keys[i].index_copy_(1, position, key.bfloat16().to(self.dtype))
            self.values[i].index_copy_(1, position, value.bfloat16().to(self.dtype))
            score = query @ self.keys[i].transpose(1, 2) / math.sqrt(self.dim)
            score = score.masked_fill(self.places > position, -math.inf)
            attended = torch.softmax(score.float(), -1).to(self.dtype) @ self.values[i]
            x = x + w["out"] @ attended.reshape(-1)
            gate, up = (w["gate_up"] @ self.normed(x, w["norm_2"])).chunk(2)
            x = x + w["down"] @ (torch.nn.functional.silu(gate) * up)
            streams.append(x)
        logits = self.head @ self.normed(x, self.norm)
        return logits, streams


def run_decode(command):
    """Shape, context, tokens and the first step's layers, as decode prints them."""
    text = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if text.returncode == 77:
        print(text.stdout)
        sys.exit(77)
    print(text.stdout, text.stderr, sep="", end="")
    head = re.search(r"(\d+) layers, hidden (\d+), (\d+) and (\d+) heads of (\d+), ff (\d+), "
                     r"vocabulary (\d+), context (\d+)", text.stdout)
    tokens = re.search(r"^tokens (.*)$", text.stdout, re.M)
    if text.returncode != 0 or not head or not tokens:
        print("FAIL", command, "ended with", text.returncode)
        sys.exit(1)
    layers = [[float(n) for n in line.split()]
              for line in re.findall(r"^layer \d+: (.*)$", text.stdout, re.M)]
    numbers = [int(n) for n in head.groups()]
    return numbers[:7], numbers[7], [int(t) for t in tokens.group(1).split()], layers


def one(n):
    return torch.tensor([n], device="cuda")


def compare(model, context, tokens, layers):
    failed = 0
    token = 1
    least = math.inf
    for step, want in enumerate(tokens):
        logits, streams = model.step(one(token), one(context + step))
        if step == 0:
            for i, (x, line) in enumerate(zip(streams, layers)):
                size = x.square().mean().sqrt().item()
                mine = [size, x[0].item(), x[1].item(), x[-1].item()]
                if max(abs(a - b) for a, b in zip(mine, line)) > 2e-3 * size:
                    print(f"FAIL layer {i}: {line}, not {mine}")
                    failed = 1
        top = torch.topk(logits, 2)
        least = min(least, (top.values[0] - top.values[1]).item())
        token = top.indices[0].item()
        if token != want:
            print(f"FAIL step {step}: token {want}, not {token}; the next best is "
                  f"{top.values[0].item() - top.values[1].item():.2e} lower")
            return 1
    print(f"{len(tokens)} tokens and {len(layers)} layers are PyTorch's; the closest choice was "
          f"by {least:.2e}")
    return failed


def measure(shape, context, steps):
    """ms of a step in bf16 as one CUDA graph."""
    model = Model(shape, context, context + 1, torch.bfloat16)
    token, position = one(1), one(context)
    model.step(token, position)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        logits, _ = model.step(token, position)
        token.copy_(logits.argmax().reshape(1))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    graph.replay()
    best = math.inf
    for _ in range(5):
        begin.record()
        for _ in range(steps):
            graph.replay()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / steps)
    return best


def main():
    if not torch.cuda.is_available():
        print("no GPU")
        return 77
    if len(sys.argv) < 2:
        print(__doc__)
        return 1
    shape, context, tokens, layers = run_decode(sys.argv[1:] + ["--show", "1"])
    with torch.no_grad():
        model = Model(shape, context, context + len(tokens), torch.float32)
        failed = compare(model, context, tokens, layers)
        del model
        torch.cuda.empty_cache()
        print(f"PyTorch's CUDA graph, bf16: {measure(shape, context, 20):.4f} ms a step")
    return failed


if __name__ == "__main__":
    sys.exit(main())
