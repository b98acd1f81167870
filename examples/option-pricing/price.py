"""The price of an arithmetic Asian call by Monte Carlo: monthly averages over one year."""

import argparse
import json
import math
import random

SPOT, RATE, VOLATILITY, MONTHS = 100.0, 0.03, 0.25, 12


def payoff(rng, strike):
    step = 1 / MONTHS
    drift, shake = (RATE - VOLATILITY**2 / 2) * step, VOLATILITY * math.sqrt(step)
    price, total = SPOT, 0.0
    for _ in range(MONTHS):
        price *= math.exp(drift + shake * rng.gauss(0.0, 1.0))
        total += price
    return math.exp(-RATE) * max(total / MONTHS - strike, 0.0)


def estimate(strike, paths, seed):
    rng = random.Random(seed)
    drawn = [payoff(rng, strike) for _ in range(paths)]
    mean = sum(drawn) / paths
    variance = sum((x - mean) ** 2 for x in drawn) / (paths - 1)
    return {"price": round(mean, 4), "error": round(math.sqrt(variance / paths), 4)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strike", type=float, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--paths", type=int, default=20_000)
    given = parser.parse_args()
    print(json.dumps(estimate(given.strike, given.paths, given.seed)))
