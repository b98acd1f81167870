"""Writes data/query.fasta and 24 files of random sequences with relatives of the query in some."""

import random
from pathlib import Path

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
SHARDS, SEQUENCES, LENGTH = 24, 200, 180


def sequence(rng):
    return "".join(rng.choices(LETTERS, k=LENGTH))


def relative(rng, query):
    """Two letters in five are others."""
    return "".join(rng.choice(LETTERS) if rng.random() < 0.4 else letter for letter in query)


def main():
    rng = random.Random(7)
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    query = sequence(rng)
    (folder / "query.fasta").write_text(f">query\n{query}\n")
    for shard in range(SHARDS):
        rows = [f">s{shard}-{n}\n{sequence(rng)}\n" for n in range(SEQUENCES)]
        rows += [f">relative-{shard}-{n}\n{relative(rng, query)}\n" for n in range(shard % 4)]
        (folder / f"shard-{shard:02d}.fasta").write_text("".join(rows))


if __name__ == "__main__":
    main()
