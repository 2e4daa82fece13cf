#!/usr/bin/env python3
"""A product over several cards of one host, by NCCL: torchrun --nproc-per-node 2 examples/rows_over_cards.py [N]

Each card has its part of A's rows. B is sent from the first card to all, in panels of columns: while one panel is
multiplied, the next one is on its way. Prints the seconds of the whole, of the product alone, and one card's."""
import sys
import time

import torch
import torch.distributed as dist

import mmtune

PANELS = 4


def multiply(a, b, c, sends):
    """c = a b, panel by panel; `sends`: B is at the first card alone as yet."""
    panels = b.shape[0]
    way = dist.broadcast(b[0], 0, async_op=True) if sends else None
    for i in range(panels):
        if way:
            way.wait()  # the stream waits, not the host
        way = dist.broadcast(b[i + 1], 0, async_op=True) if sends and i + 1 < panels else None
        mmtune.matmul(a, b[i], out=c[i])


def seconds(call, repeats=5):
    """The least of several, from when all cards begin until the last one has ended."""
    best = float("inf")
    for _ in range(repeats + 1):  # the first one makes plans and NCCL's rings
        dist.barrier()
        torch.cuda.synchronize()
        begun = time.perf_counter()
        call()
        torch.cuda.synchronize()
        took = torch.tensor([time.perf_counter() - begun], device="cuda")
        dist.all_reduce(took, dist.ReduceOp.MAX)
        best = min(best, took.item())
    return best


def main():
    dist.init_process_group("nccl")
    rank, cards = dist.get_rank(), dist.get_world_size()
    torch.cuda.set_device(rank)
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 16384
    if n % (cards * PANELS):
        sys.exit(f"N is {n}; it must be a multiple of {cards * PANELS}, the cards' panels")
    torch.manual_seed(1)
    whole = torch.randn(n, n, device="cuda", dtype=torch.bfloat16)  # the same on all cards
    a = whole[rank * n // cards:(rank + 1) * n // cards]
    b = torch.randn(PANELS, n, n // PANELS, device="cuda", dtype=torch.bfloat16)
    c = torch.empty(PANELS, n // cards, n // PANELS, device="cuda", dtype=torch.bfloat16)
    all_of_it = torch.empty(PANELS, n, n // PANELS, device="cuda", dtype=torch.bfloat16)

    sent = seconds(lambda: multiply(a, b, c, True))
    apart = seconds(lambda: multiply(a, b, c, False))
    alone = seconds(lambda: multiply(whole, b, all_of_it, False))
    rows = slice(rank * n // cards, (rank + 1) * n // cards)
    wrong = (c.float() - all_of_it[:, rows].float()).abs().max().item()
    if wrong > 0.02 * n ** 0.5:
        sys.exit(f"card {rank}: its rows differ from one card's by {wrong}")
    if rank == 0:
        print(f"bf16 {n}x{n}x{n}: one card {alone * 1e3:.2f} ms; {cards} cards {apart * 1e3:.2f} ms, "
              f"{alone / apart:.2f} times as fast; with B sent {sent * 1e3:.2f} ms, {alone / sent:.2f} times")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
