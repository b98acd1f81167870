"""Site percolation: is there a way across a porous square, and how large is its largest pore?

Each cell of a square of SIZE x SIZE is open with probability P. The answer jumps near P = 0.593:
below it hardly any square lets water through, above it nearly all do. Run it for many P and seeds.
"""

import argparse
import json
import random


def cells(size, p, seed):
    rng = random.Random(seed * 1_000_003 + int(p * 1_000_000))
    return [[rng.random() < p for _ in range(size)] for _ in range(size)]


def flood(grid, start, seen):
    """The open cells connected to `start`."""
    size, pore, todo = len(grid), [], [start]
    seen.add(start)
    while todo:
        row, column = todo.pop()
        pore.append((row, column))
        near = ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1))
        for r, c in near:
            if 0 <= r < size and 0 <= c < size and grid[r][c] and (r, c) not in seen:
                seen.add((r, c))
                todo.append((r, c))
    return pore


def percolate(size, p, seed):
    grid, seen = cells(size, p, seed), set()
    largest, crosses = 0, False
    for row in range(size):
        for column in range(size):
            if grid[row][column] and (row, column) not in seen:
                pore = flood(grid, (row, column), seen)
                rows = {r for r, _ in pore}
                largest = max(largest, len(pore))
                crosses = crosses or (0 in rows and size - 1 in rows)
    return {"crosses": crosses, "largest": round(largest / (size * size), 4)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--p", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--size", type=int, default=300)
    given = parser.parse_args()
    print(json.dumps(percolate(given.size, given.p, given.seed)))
