# SPDX-License-Identifier: BSD-3-Clause
"""Programs that train with PyTorch, which pytorch_steps.py and pytorch_fit.py measure.

    python3 tests/gpu/python/pytorch_programs.py FOLDER [--steps 60]

runs each of them with `bins` under the layer `log` and writes FOLDER/NAME.csv, which
`shpool-bench memory --replay` repeats without PyTorch.  Exit: 0; 77: no PyTorch or no GPU.
"""
import argparse
import os
import subprocess
import sys

# additions to a process's environment; other modes are specs of libshpool
MODES = {
    "native": {},
    "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "bins": {"SHPOOL_DEVICE_ALLOCATOR": "bins"},
    "driver": {"SHPOOL_DEVICE_ALLOCATOR": "bins:memory=driver"},
}


def environment(mode):
    return dict(os.environ, **MODES.get(mode, {"SHPOOL_DEVICE_ALLOCATOR": mode}))


def enable(torch, mode):
    """Choose the allocator of this process, whose environment is that of the mode."""
    if mode not in ("native", "expandable"):
        import shpool.torch
        shpool.torch.enable()
    torch.zeros(1, device="cuda")


def need_gpu():
    try:
        import torch
        if not torch.cuda.is_available():
            raise ImportError("no GPU")
    except ImportError as reason:
        print(f"skipped: {reason}")
        sys.exit(77)


def train(torch, optimizer, loss_of):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = loss_of()
    loss.backward()
    optimizer.step()


def words_step(torch, batch_of, length_of):
    """A transformer: a function that trains for a step, of a number."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(512, 8, 2048, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(8000, 512), nn.TransformerEncoder(layer, 8),
                          nn.Linear(512, 8000)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(i):
        words = torch.randint(8000, (batch_of(i), length_of(i)), device="cuda")
        train(torch, optimizer, lambda: nn.functional.cross_entropy(model(words).flatten(0, 1),
                                                                    words.flatten()))

    return step


def images_step(torch, batch_of):
    """Convolutions: height, width and batch change from step to step."""
    nn = torch.nn
    layers = []
    for before, after in ((3, 64), (64, 128), (128, 256), (256, 256)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(),
                   nn.Conv2d(after, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100))
    model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)

    def step(i):
        batch = batch_of(i)
        high, wide = 96 + 32 * (i * 7 % 9), 96 + 32 * (i * 11 % 9)
        seen = torch.randn(batch, 3, high, wide, device="cuda")
        named = torch.randint(100, (batch,), device="cuda")
        train(torch, optimizer, lambda: nn.functional.cross_entropy(model(seen), named))

    return step


def caches(torch):
    """Keys and values of 48 sequences and 8 layers: each step they grow, and some end."""
    ends = [64 * (4 + i * 37 % 61) for i in range(997)]
    sequences = {i: [torch.zeros(2, 64, 1024, device="cuda") for _ in range(8)] for i in range(48)}
    begun = len(sequences)

    def step(_):
        nonlocal begun
        for key in list(sequences):
            for layer, old in enumerate(sequences[key]):
                new = torch.empty(2, old.shape[1] + 64, 1024, device="cuda")
                new[:, :old.shape[1]] = old
                sequences[key][layer] = new
                del old
            if sequences[key][0].shape[1] >= ends[key % len(ends)]:
                del sequences[key]
                sequences[begun] = [torch.zeros(2, 64, 1024, device="cuda") for _ in range(8)]
                begun += 1

    return step


def experts_step(torch, tokens_of):
    """Layers of 8 experts, 2 for each token: the number of tokens changes, and each expert's."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(512, 8)
            self.experts = nn.ModuleList(nn.Sequential(
                nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(8))

        def forward(self, x):
            weights, chosen = self.gate(x).float().softmax(-1).topk(2)
            out = x
            for k, expert in enumerate(self.experts):
                rows, place = (chosen == k).nonzero(as_tuple=True)
                out = out.index_add(0, rows, expert(x[rows]) * weights[rows, place, None])
            return out

    model = nn.Sequential(*(Layer() for _ in range(4))).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step(i):
        x = torch.randn(tokens_of(i), 512, device="cuda")
        train(torch, optimizer, lambda: (model(x) - 1).square().mean())

    return step


def detection(torch):
    """Convolutions and a pyramid of features: sizes of images and numbers of boxes change."""
    nn = torch.nn

    def block(before, after):
        return nn.Sequential(nn.Conv2d(before, after, 3, 2, 1), nn.BatchNorm2d(after), nn.ReLU(),
                             nn.Conv2d(after, after, 3, 1, 1), nn.BatchNorm2d(after), nn.ReLU())

    widths = (3, 64, 128, 256, 512, 512)
    down = nn.ModuleList(block(*pair) for pair in zip(widths, widths[1:])).cuda()
    side = nn.ModuleList(nn.Conv2d(width, 256, 1) for width in widths[2:]).cuda()
    head = nn.Conv2d(256, 9 * 85, 3, 1, 1).cuda()
    boxes = nn.Linear(256 * 49, 1024).cuda()
    every = nn.ModuleList((down, side, head, boxes))
    optimizer = torch.optim.SGD(every.parameters(), lr=1e-4, momentum=0.9)

    def loss_of(x, number):
        levels, top, loss = [], None, 0.0
        for part in down:
            x = part(x)
            levels.append(x)
        places = torch.rand(number, 7, 7, 2, device="cuda") * 2 - 1
        coarse = side[-1](x)[:1].float().expand(number, -1, -1, -1)
        found = nn.functional.grid_sample(coarse, places, align_corners=False)
        for layer, level in reversed(list(zip(side, levels[1:]))):
            own = layer(level)
            top = own if top is None else own + nn.functional.interpolate(top, own.shape[-2:])
            loss = loss + head(top).float().square().mean()
        return loss + boxes(found.flatten(1)).float().square().mean()

    def step(i):
        high, wide = 480 + 32 * (i * 7 % 11), 480 + 32 * (i * 5 % 17)
        x = torch.randn(8, 3, high, wide, device="cuda")
        train(torch, optimizer, lambda: loss_of(x, 20 + i * 37 % 200))

    return step


def tuning(torch):
    """A frozen transformer with adapters: lengths change; every second step recomputes layers."""
    from torch.utils.checkpoint import checkpoint
    nn = torch.nn
    options = {"device": "cuda", "dtype": torch.bfloat16}

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.TransformerEncoderLayer(1024, 16, 4096, 0.0, batch_first=True,
                                                   **options).requires_grad_(False)
            self.adapter = nn.Sequential(nn.Linear(1024, 32, **options), nn.GELU(),
                                         nn.Linear(32, 1024, **options))

        def forward(self, x):
            x = self.base(x)
            return x + self.adapter(x)

    embedding = nn.Embedding(16000, 1024, **options).requires_grad_(False)
    layers = nn.ModuleList(Layer() for _ in range(12))
    optimizer = torch.optim.AdamW([p for p in layers.parameters() if p.requires_grad], lr=1e-4)

    def loss_of(words, recompute):
        x = embedding(words)
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=False) if recompute else layer(x)
        return nn.functional.cross_entropy((x @ embedding.weight.T).flatten(0, 1).float(),
                                           words.flatten())

    def step(i):
        words = torch.randint(16000, (4, 256 + 64 * (i * 11 % 29)), device="cuda")
        train(torch, optimizer, lambda: loss_of(words, i % 2 == 1))

    return step


PROGRAMS = {
    "fixed": lambda torch: words_step(torch, lambda i: 16, lambda i: 320),
    "varied": lambda torch: words_step(torch, lambda i: 16, lambda i: 128 + 32 * (i * 7 % 13)),
    "images": lambda torch: images_step(torch, lambda i: 8 + 4 * (i * 5 % 7)),
    "caches": caches,
    "experts": lambda torch: experts_step(torch, lambda i: 4096 + 1024 * (i * 5 % 13)),
    "detection": detection,
    "tuning": tuning,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--program", default="")
    args = parser.parse_args()
    need_gpu()
    if args.program:
        import torch
        enable(torch, "bins")
        torch.manual_seed(1)
        step = PROGRAMS[args.program](torch)
        for i in range(args.steps):
            step(i)
        torch.cuda.synchronize()
        return
    for name in PROGRAMS:
        path = os.path.join(args.folder, name + ".csv")
        subprocess.run([sys.executable, __file__, args.folder, "--steps", str(args.steps),
                        "--program", name], env=environment(f"log:file={path}|bins"), check=True)
        print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
