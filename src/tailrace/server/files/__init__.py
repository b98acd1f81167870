"""Blobs and outputs: kept, published, collected when nobody needs them."""
