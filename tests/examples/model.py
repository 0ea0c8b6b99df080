# SPDX-License-Identifier: BSD-3-Clause
"""Writes a safetensors file with examples/decode's synthetic weights, in natural order.

    model.py FILE layers hidden heads kv_heads head_dim ff vocab [FAULT]

The formulas are those of examples/decode/weights.h.  FAULT: "missing", "float", "short" or "head":
a tensor is missing, has another type, the file ends too early, or it has a head of its own.
"""
import json
import struct
import sys

NORM_1, Q, K, V, OUT, NORM_2, GATE, UP, DOWN, NORM, HEAD = range(11)
MASK = 0xFFFFFFFF


def made_up(name, layer, row, column, columns):
    x = ((((name + 16 * layer) * 0x9E3779B1 & MASK) + row & MASK) * 0x85EBCA6B + column) & MASK
    x = (x ^ x >> 16) * 0x21F0AAAD & MASK
    x = (x ^ x >> 15) * 0x735A2D97 & MASK
    value = x >> 24
    if name in (NORM_1, NORM_2, NORM):
        return (128 + value % 32) / 2**7
    return (2 * value - 255) / 2**(7 + columns.bit_length() // 2)


def bf16(number):
    bits = struct.unpack("<I", struct.pack("<f", number))[0]
    assert bits & 0xFFFF == 0
    return struct.pack("<H", bits >> 16)


def matrix(name, layer, rows, columns):
    return b"".join(bf16(made_up(name, layer, r, c, columns))
                    for r in range(rows) for c in range(columns))


def tensors(layers, hidden, heads, kv_heads, head_dim, ff, vocab):
    """Pairs of name and shape, with the numbers."""
    q, kv = heads * head_dim, kv_heads * head_dim
    yield "model.embed_tokens.weight", (vocab, hidden), (HEAD, 0)
    for i in range(layers):
        for short, name, shape in (
                ("input_layernorm", NORM_1, (hidden,)), ("self_attn.q_proj", Q, (q, hidden)),
                ("self_attn.k_proj", K, (kv, hidden)), ("self_attn.v_proj", V, (kv, hidden)),
                ("self_attn.o_proj", OUT, (hidden, q)),
                ("post_attention_layernorm", NORM_2, (hidden,)),
                ("mlp.gate_proj", GATE, (ff, hidden)), ("mlp.up_proj", UP, (ff, hidden)),
                ("mlp.down_proj", DOWN, (hidden, ff))):
            yield f"model.layers.{i}.{short}.weight", shape, (name, i)
    yield "model.norm.weight", (hidden,), (NORM, 0)


def main():
    path, shape, fault = sys.argv[1], [int(n) for n in sys.argv[2:9]], sys.argv[9:]
    header, data = {"__metadata__": {"format": "pt"}}, []
    at = 0
    for name, dims, (which, layer) in tensors(*shape):
        if "missing" in fault and "up_proj" in name:
            continue
        numbers = matrix(which, layer, dims[0] if len(dims) > 1 else 1, dims[-1])
        header[name] = {"dtype": "F16" if "float" in fault and "up_proj" in name else "BF16",
                        "shape": list(dims), "data_offsets": [at, at + len(numbers)]}
        data.append(numbers)
        at += len(numbers)
    if "head" in fault:
        header["lm_head.weight"] = header["model.embed_tokens.weight"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    body = b"".join(data)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + body[:-64 if "short" in fault else None])


main()
