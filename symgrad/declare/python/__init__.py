"""Declaring with Python: the decorator, annotations, and what stands inside of a declared function."""
