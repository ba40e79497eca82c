"""Speed of what symgrad prints, beside its peers and code written by hand: README.md says how."""
