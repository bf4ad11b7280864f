"""One ranker per person, on top of a model that all people share."""
