"""Local stand-ins of hosted systems, for rehearsals and tests: same wire, no key, no cost."""
