# SPDX-License-Identifier: BSD-3-Clause
"""Every layer that examples/decode prints, and every token, beside plain loops.

    python3 decode.py DECODE [DECODE'S OPTIONS]        small shapes: 1 us for each weight

Computes the same steps with the same weights (examples/decode/model.h) in double.  Exit: 0; 1: a
layer, the logits or a token differ, or DECODE ends with another status than 0.
"""
import math
import re
import subprocess
import sys

# A key or value near the middle between two numbers of bf16 may be rounded to the other one: the
# kernel's vectors have 16 bits.  At a short context this makes up to 0.3 %.
TOLERANCE = 2e-3
EPSILON, BASE = 1e-5, 500000.0


def numbers(first, count, seed, most, base, scale):
    """make_up of model.h."""
    out, mask = [], 0xFFFFFFFF
    for i in range(first, first + count):
        x = i * 0x9E3779B1 + seed & mask
        x = (x ^ x >> 16) * 0x21F0AAAD & mask
        x = (x ^ x >> 15) * 0x735A2D97 & mask
        out.append(base + scale * (2 * (x >> 24 & most) - most))
    return out


def bf16(x):
    """The nearest number of bf16."""
    fraction, exponent = math.frexp(x)
    return math.ldexp(round(fraction * 256), exponent - 8)


def dot(a, b):
    return sum(map(float.__mul__, a, b))


class Model:
    """The arrays of examples/decode/model.h, in the order of its weights."""

    def __init__(self, shape, context, steps, panel):
        """panel: most columns of a panel of out and down."""
        self.layers, self.hidden, self.heads, self.kv, self.dim, self.ff, self.vocab = shape
        self.group, self.tokens, self.at = self.heads // self.kv, context + steps, 0
        self.weights = []
        for _ in range(self.layers):
            self.weights.append((
                self.gains(), self.matrix((self.heads + 2 * self.kv) * self.dim, self.hidden),
                self.matrix(self.hidden, self.heads * self.dim, panel),
                self.gains(), self.matrix(2 * self.ff, self.hidden),
                self.matrix(self.hidden, self.ff, panel)))
        self.norm, self.head = self.gains(), self.matrix(self.vocab, self.hidden)
        self.cache = numbers(0, self.layers * self.kv * 2 * self.tokens * self.dim, 1, 255, 0.0,
                             1 / 256)

    def gains(self):
        self.at += self.hidden
        return numbers(self.at - self.hidden, self.hidden, 0, 31, 1.0, 1 / 128)

    def matrix(self, rows, columns, panel=1 << 16):
        scale = 0.5 ** (7 + columns.bit_length() // 2)
        first, self.at = self.at, self.at + rows * columns
        n = -(-columns // panel)
        while columns % (8 * n):
            n += 1
        width = columns // n
        return [[x for p in range(n)
                 for x in numbers(first + (p * rows + r) * width, width, 0, 255, 0.0, scale)]
                for r in range(rows)]

    def step(self, token, position):
        """The residual stream after each layer, and the logits."""
        x, streams = self.head[token], []
        for i, (norm_1, qkv, out, norm_2, gate_up, down) in enumerate(self.weights):
            x = add(x, times(out, self.attention(i, times(qkv, normed(x, norm_1)), position)))
            y = times(gate_up, normed(x, norm_2))
            x = add(x, times(down, [g / (1 + math.exp(-g)) * u for g, u in zip(y[::2], y[1::2])]))
            streams.append(x)
        return streams, times(self.head, normed(x, self.norm))

    def attention(self, layer, qkv, position):
        out, dim = [], self.dim
        heads = [qkv[i:i + dim] for i in range(0, len(qkv), dim)]
        for k in range(self.kv):
            first, key = self.group * k, self.heads + k
            keys = (layer * self.kv + k) * 2 * self.tokens * dim
            values = keys + self.tokens * dim
            new = position * dim
            self.cache[keys + new:keys + new + dim] = map(
                bf16, turn(heads[key], position))
            self.cache[values + new:values + new + dim] = map(bf16, heads[key + self.kv])
            for q in heads[first:first + self.group]:
                q = turn(q, position)
                score = [math.exp(dot(q, self.cache[keys + t:keys + t + dim]) / math.sqrt(dim))
                         for t in range(0, new + dim, dim)]
                for i in range(dim):
                    out.append(dot(score, self.cache[values + i:values + new + dim:dim])
                               / sum(score))
        return out


def add(a, b):
    return list(map(float.__add__, a, b))


def times(matrix, x):
    return [dot(row, x) for row in matrix]


def normed(x, gains):
    root = math.sqrt(dot(x, x) / len(x) + EPSILON)
    return [v * g / root for v, g in zip(x, gains)]


def turn(head, position):
    """The rotary embedding of pairs of neighbours."""
    out = []
    for i in range(0, len(head), 2):
        angle = position * BASE ** (-i / len(head))
        a, b, cos, sin = head[i], head[i + 1], math.cos(angle), math.sin(angle)
        out += [a * cos - b * sin, b * cos + a * sin]
    return out


def same(what, got, want):
    most = max(abs(a - b) for a, b in zip(got, want)) / math.sqrt(dot(want, want) / len(want))
    if len(got) != min(len(want), 4096) or not most <= TOLERANCE:
        print(f"{what}: {len(got)} numbers, a difference of {most:.2g}")
        return False
    return True


def main():
    text = subprocess.run(sys.argv[1:] + ["--show", "10000"], capture_output=True, text=True,
                          timeout=300)
    head = re.search(r"(\d+) layers, hidden (\d+), (\d+) and (\d+) heads of (\d+), ff (\d+), "
                     r"vocabulary (\d+), context (\d+)", text.stdout)
    if text.returncode != 0 or not head:
        print(text.stdout, text.stderr)
        return 1
    *shape, context = map(int, head.groups())
    panel = 2048 if "executor" in text.stdout else 8192  # 512 columns for each warp of readers
    if "--panel" in sys.argv:
        panel = int(sys.argv[sys.argv.index("--panel") + 1])
    right, versions = True, 0
    found = re.findall(r"^(layer \d+|logits|tokens)\b(.*)$", text.stdout, re.M)
    tokens = [[int(t) for t in line.split()] for what, line in found if what == "tokens"]
    shown = [(what, int(n.split()[0]), [float(v) for v in n.split()[1:]])
             for what, n in found if what != "tokens"]
    for chosen in tokens:
        model, token = Model(shape, context, len(chosen), panel), 1
        for step, want in enumerate(chosen):
            streams, logits = model.step(token, context + step)
            ends = step + 1 == len(chosen) or shown[versions][1] == step  # a launch
            for expected in streams + [logits] if ends else []:
                what, of_step, got = shown[versions]
                versions += 1
                right &= of_step == step and same(f"step {step}, {what}", got, expected)
            token = logits.index(max(logits))
            if token != want:
                print(f"step {step}: token {want}, not {token}")
                right = False
    if versions != len(shown) or not versions:
        print(f"{len(shown)} lines, not {versions}")
        return 1
    print(f"{versions} layers, {len(tokens)} versions: {'right' if right else 'WRONG'}")
    return not right


if __name__ == "__main__":
    sys.exit(main())
