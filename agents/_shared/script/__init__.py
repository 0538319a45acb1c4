"""The scripted model of this shop: a demo without a key, built on the same tools that a real model gets."""
