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
TOLERANCE = 2e-3  # of a layer's root mean square, as in tests/examples/decode.py


def numbers(first, count, seed, most, base, scale, dtype):
    """make_up of examples/decode/setup.h."""
    mask = 0xFFFFFFFF
    out = torch.empty(count, device="cuda", dtype=dtype)
    for part in range(0, count, 1 << 24):
        size = min(1 << 24, count - part)
        x = torch.arange(first + part, first + part + size, device="cuda", dtype=torch.int64)
        x = x * 0x9E3779B1 + seed & mask
        x = (x ^ x >> 16) * 0x21F0AAAD & mask
        x = (x ^ x >> 15) * 0x735A2D97 & mask
        out[part:part + size] = base + scale * (2.0 * (x >> 24 & most) - most)
    return out


class Model:
    def __init__(self, shape, tokens, dtype):
        """shape: layers, hidden, heads, key heads, head_dim, ff, vocab."""
        self.layers, self.hidden, self.heads, self.kv, self.dim, self.ff, self.vocab = shape
        self.dtype, self.at, self.group = dtype, 0, self.heads // self.kv
        self.weights = [self.layer() for _ in range(self.layers)]
        self.norm, self.head = self.gains(), self.matrix(self.vocab, self.hidden)
        cache = (self.layers, self.kv, 2, tokens, self.dim)
        cache = numbers(0, math.prod(cache), 1, 255, 0.0, 1 / 256, dtype).view(cache)
        self.keys, self.values = cache[:, :, 0], cache[:, :, 1]
        half = torch.arange(self.dim // 2, device="cuda", dtype=torch.float64)
        angle = torch.arange(tokens, device="cuda", dtype=torch.float64)[:, None] * BASE ** (
            -2.0 * half / self.dim)
        self.cos, self.sin = angle.cos().to(dtype), angle.sin().to(dtype)
        self.places = torch.arange(tokens, device="cuda")

    def gains(self):
        self.at += self.hidden
        return numbers(self.at - self.hidden, self.hidden, 0, 31, 1.0, 1 / 128, self.dtype)

    def matrix(self, rows, columns):
        first, self.at = self.at, self.at + rows * columns
        return numbers(first, rows * columns, 0, 255, 0.0, 0.5 ** (7 + columns.bit_length() // 2),
                       self.dtype).view(rows, columns)

    def layer(self):  # in the order of examples/decode/model.h
        return dict(norm_1=self.gains(),
                    qkv=self.matrix((self.heads + 2 * self.kv) * self.dim, self.hidden),
                    out=self.matrix(self.hidden, self.heads * self.dim),
                    norm_2=self.gains(), gate_up=self.matrix(2 * self.ff, self.hidden),
                    down=self.matrix(self.hidden, self.ff))

    def normed(self, x, gain):
        return (x.float() * torch.rsqrt(x.float().square().mean() + EPSILON)).to(self.dtype) * gain

    def turn(self, x, position):
        a, b = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[position], self.sin[position]
        return torch.stack([a * cos - b * sin, b * cos + a * sin], -1).flatten(-2)

    def step(self, token, position):
        """token and position: tensors of one number, so that a graph can be made of it."""
        x = self.head[token].reshape(-1)
        streams = []
        for i, w in enumerate(self.weights):
            qkv = (w["qkv"] @ self.normed(x, w["norm_1"])).view(self.kv, -1, self.dim)
            query = self.turn(qkv[:, :self.group], position)
            key = self.turn(qkv[:, self.group:self.group + 1], position)
            value = qkv[:, self.group + 1:]
            # the cache is bf16 in any case
            self.keys[i].index_copy_(1, position, key.bfloat16().to(self.dtype))
            self.values[i].index_copy_(1, position, value.bfloat16().to(self.dtype))
            score = query @ self.keys[i].transpose(1, 2) / math.sqrt(self.dim)
            score = score.masked_fill(self.places > position, -math.inf)
            attended = torch.softmax(score.float(), -1).to(self.dtype) @ self.values[i]
            x = x + w["out"] @ attended.reshape(-1)
            both = w["gate_up"] @ self.normed(x, w["norm_2"])
            x = x + w["down"] @ (torch.nn.functional.silu(both[::2]) * both[1::2])
            streams.append(x)
        logits = self.head @ self.normed(x, self.norm)
        return logits, streams


def run_decode(command):
    """Shape, context, tokens and the first step's layers, as decode prints them."""
    text = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if text.returncode == 77:
        print(text.stdout)
        sys.exit(77)
    print(re.sub(r"^(layer|logits) .*\n", "", text.stdout, flags=re.M), text.stderr, sep="", end="")
    head = re.search(r"(\d+) layers, hidden (\d+), (\d+) and (\d+) heads of (\d+), ff (\d+), "
                     r"vocabulary (\d+), context (\d+)", text.stdout)
    tokens = re.search(r"^tokens (.*)$", text.stdout, re.M)
    if text.returncode != 0 or not head or not tokens:
        print("FAIL", command, "ended with", text.returncode)
        sys.exit(1)
    layers = [[float(n) for n in line.split()]
              for line in re.findall(r"^layer \d+ 0 (.*)$", text.stdout, re.M)]
    *shape, context = map(int, head.groups())
    return shape, context, [int(t) for t in tokens.group(1).split()], layers[:shape[0]]


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
                apart = (x[:len(line)].cpu() - torch.tensor(line)).abs().max()
                apart = (apart / x.square().mean().sqrt().cpu()).item()
                if not apart <= TOLERANCE:
                    print(f"FAIL layer {i}: a difference of {apart:.2g}")
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
    model = Model(shape, context + 1, torch.bfloat16)
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
        model = Model(shape, context + len(tokens), torch.float32)
        failed = compare(model, context, tokens, layers)
        del model
        torch.cuda.empty_cache()
        print(f"PyTorch's CUDA graph, bf16: {measure(shape, context, 20):.4f} ms a step")
    return failed


if __name__ == "__main__":
    sys.exit(main())
