"""The state of on-line learners, and how they go over blocks of rows."""
