"""RankBoost over shards of the data, each with some of the queries."""
