"""What a data scientist's own NumPy code has, line by line: (inputs, body), as it stands in a function of its own."""
