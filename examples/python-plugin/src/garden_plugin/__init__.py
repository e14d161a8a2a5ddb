"""A Crossbridge plugin: the beds and plants of a garden, which is a SQLite database in a folder."""
