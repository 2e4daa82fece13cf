#!/usr/bin/env python3
"""Programs of PyTorch that tools/measure_clients.py measures: client_models.py [--seconds S] CASE...

Prints a line of JSON for each case: the median time of a step in milliseconds, half the interquartile
range, the number of steps, and some of the output's elements, by which two runs are compared. Weights and
inputs are random, by a seed of their own. `--list` names the cases."""
import argparse
import json
import statistics
import sys
import time

LAYERS, HIDDEN, INNER, HEADS, KV_HEADS, VOCABULARY = 8, 4096, 14336, 32, 8, 32000
CACHED = 512       # tokens that a decoding step attends to
SAMPLED = 64       # elements of the output that are told
LEAST_STEPS = 10

# name: (maker, type, arguments)
CASES = {
    **{f"decode-{n}": ("decode", "bfloat16", n) for n in (1, 16, 64)},
    "prompt-300": ("prompt", "bfloat16", (1, 300)),
    "prompt-1000": ("prompt", "bfloat16", (1, 1000)),
    "prompt-4x2048": ("prompt", "bfloat16", (4, 2048)),
    "train-2x2048": ("train", "bfloat16", (2, 2048)),
    **{f"f32-decode-{n}": ("decode", "float32", n) for n in (1, 16, 64)},
    "f32-prompt-300": ("prompt", "float32", (1, 300)),
    "f32-prompt-1000": ("prompt", "float32", (1, 1000)),
    "odd-bf16": ("odd", "bfloat16", 511),
    "odd-f32": ("odd", "float32", 511),
    **{f"eager-decode-{n}": ("eager", "bfloat16", n) for n in (1, 16)},
}


def make_classes(torch):
    """A decoder as Llama's, of plain modules."""
    nn, functional = torch.nn, torch.nn.functional
    size = HIDDEN // HEADS

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q = nn.Linear(HIDDEN, HIDDEN, bias=False)
            self.k = nn.Linear(HIDDEN, KV_HEADS * size, bias=False)
            self.v = nn.Linear(HIDDEN, KV_HEADS * size, bias=False)
            self.o = nn.Linear(HIDDEN, HIDDEN, bias=False)

        def forward(self, x, cache):
            batch, tokens, _ = x.shape
            q = self.q(x).view(batch, tokens, HEADS, size).transpose(1, 2)
            k = self.k(x).view(batch, tokens, KV_HEADS, size).transpose(1, 2)
            v = self.v(x).view(batch, tokens, KV_HEADS, size).transpose(1, 2)
            if cache is not None:
                cache[0][:, :, -1:].copy_(k)
                cache[1][:, :, -1:].copy_(v)
                k, v = cache
            # Flash attention shares keys and values among heads; it takes 16-bit types alone.
            grouped = x.dtype != torch.float32
            if not grouped:
                k, v = (t.repeat_interleave(HEADS // KV_HEADS, dim=1) for t in (k, v))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=grouped)
            return self.o(y.transpose(1, 2).reshape(batch, tokens, HIDDEN))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = Attention()
            self.gate = nn.Linear(HIDDEN, INNER, bias=False)
            self.up = nn.Linear(HIDDEN, INNER, bias=False)
            self.down = nn.Linear(INNER, HIDDEN, bias=False)
            self.first, self.second = nn.RMSNorm(HIDDEN), nn.RMSNorm(HIDDEN)

        def forward(self, x, cache):
            x = x + self.attention(self.first(x), cache)
            y = self.second(x)
            return x + self.down(functional.silu(self.gate(y)) * self.up(y))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(VOCABULARY, HIDDEN)
            self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
            self.norm = nn.RMSNorm(HIDDEN)
            self.head = nn.Linear(HIDDEN, VOCABULARY, bias=False)

        def forward(self, tokens, caches=None, last=False):
            x = self.embedding(tokens)
            for i, layer in enumerate(self.layers):
                x = layer(x, caches[i] if caches else None)
            return self.head(self.norm(x[:, -1:] if last else x))

    class Odd(nn.Module):
        """100 layers whose widths are odd, so that no row of a matrix is aligned."""

        def __init__(self, generator):
            super().__init__()
            widths = [2 * int(w) + 1 for w in torch.randint(32, 2048, (101,), generator=generator, device="cpu")]
            self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
            self.width = widths[0]

        def forward(self, x):
            for layer in self.layers:
                x = functional.rms_norm(functional.relu(layer(x)), (layer.out_features,))
            return x

    return Model, Odd


# ---- a step of each kind ---------------------------------------------------------------------------

class Cases:
    """Makes the steps; models of one type are shared."""

    def __init__(self, torch):
        self.torch, self.models = torch, {}
        self.Model, self.Odd = make_classes(torch)

    def tokens(self, batch, count):
        generator = self.torch.Generator().manual_seed(2)
        return self.torch.randint(VOCABULARY, (batch, count), generator=generator).cuda()

    def fill(self, model):
        """Weights by a seed, in f32, so that both types have the same."""
        generator = self.torch.Generator(device="cuda").manual_seed(1)
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.data.normal_(0, parameter.shape[1] ** -0.5, generator=generator)
        return model

    def model(self, kind):
        if kind not in self.models:
            self.models.clear()
            with self.torch.device("cuda"):
                self.models[kind] = self.fill(self.Model()).to(getattr(self.torch, kind))
        return self.models[kind]

    def graph(self, step):
        """The step as a CUDA graph; its output is the same tensor each time. What it reads is the step's."""
        torch, stream = self.torch, self.torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = step()
        return lambda: (graph.replay(), out, step)[1]

    def step_of_decode(self, kind, sequences):
        torch, model, tokens = self.torch, self.model(kind), self.tokens(sequences, 1)
        shape = (sequences, KV_HEADS, CACHED, HIDDEN // HEADS)
        generator = torch.Generator(device="cuda").manual_seed(3)
        caches = [[torch.randn(shape, generator=generator, device="cuda").to(getattr(torch, kind)) for _ in "kv"]
                  for _ in range(LAYERS)]
        return lambda: model(tokens, caches)

    def decode(self, kind, sequences):
        return self.graph(self.step_of_decode(kind, sequences))

    def eager(self, kind, sequences):
        return self.step_of_decode(kind, sequences)

    def prompt(self, kind, shape):
        model, tokens = self.model(kind), self.tokens(*shape)
        return self.graph(lambda: model(tokens, last=True))

    def train(self, kind, shape):
        torch, model, tokens = self.torch, self.model(kind), self.tokens(*shape)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-6, foreach=True)

        def step():
            with torch.enable_grad():
                logits = model(tokens)
                loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
                loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            return loss.detach()
        return step

    def odd(self, kind, tokens):
        torch = self.torch
        torch.manual_seed(6)  # of the biases
        with torch.device("cuda"):
            model = self.fill(self.Odd(torch.Generator().manual_seed(4))).to(getattr(torch, kind))
        generator = torch.Generator(device="cuda").manual_seed(5)
        x = torch.randn(tokens, model.width, generator=generator, device="cuda").to(getattr(torch, kind))
        return self.graph(lambda: model(x))

    def make(self, name):
        maker, kind, arguments = CASES[name]
        return getattr(self, maker)(kind, arguments)


# ---- measuring ---------------------------------------------------------------------------------------

def sample(out):
    flat = out.float().flatten()
    picked = flat[:: max(1, flat.numel() // SAMPLED)][:SAMPLED]
    return [round(x, 6) for x in picked.tolist()]


def measure(torch, step, seconds):
    """Each step is waited for, so that what the host takes counts where the device waits for it."""
    with torch.no_grad():
        first = sample(step())
        for _ in range(2):
            step()
        torch.cuda.synchronize()
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end or len(times) < LEAST_STEPS:
            before = time.perf_counter()
            step()
            torch.cuda.synchronize()
            times.append(1e3 * (time.perf_counter() - before))
    quarters = statistics.quantiles(times, n=4)
    return {"ms": round(quarters[1], 6), "spread_ms": round((quarters[2] - quarters[0]) / 2, 6), "steps": len(times),
            "output": first}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--seconds", type=float, default=3, help="of steps of each case; default: 3 s")
    parser.add_argument("--until", type=float, help="time since the epoch after which no case begins")
    parser.add_argument("--list", action="store_true", help="name the cases")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return 0
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case {unknown[0]}; there are {', '.join(CASES)}")
    import torch  # pylint: disable=import-outside-toplevel
    cases = Cases(torch)
    for name in options.cases:
        if options.until and time.time() > options.until:
            break
        with torch.no_grad():
            step = cases.make(name)
        print(json.dumps({"case": name, **measure(torch, step, options.seconds)}), flush=True)
        del step
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
