"""One compartment, constant infusion for 12 hours, elimination with a half-life; 48 hours."""

import csv
import json
import math
import random
import sys

HOURS, STEP = 48, 0.05


def curve(alpha, half_life, seed):
    volume = random.Random(seed).lognormvariate(math.log(40.0), 0.2)
    decay, amount, rows = math.log(2) / half_life, 0.0, []
    for step in range(int(HOURS / STEP) + 1):
        hour = step * STEP
        rows.append((round(hour, 2), amount / volume))
        amount += STEP * ((alpha if hour < 12 else 0.0) - decay * amount)
    return rows


if __name__ == "__main__":
    rows = curve(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
    with open("curve.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(("hour", "concentration"))
        out.writerows(rows[::10])
    print(json.dumps({"peak": round(max(c for _, c in rows), 4)}))
