"""Languages: what may be written, and the alphabet of tokens that writes it; no model, no masks."""
