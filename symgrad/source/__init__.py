"""Source code as data, between the plan and the languages: a tree, the names in it, and how lines are cut."""
