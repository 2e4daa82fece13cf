// The goldens' own numbers: the real ones may grow without moving them.
