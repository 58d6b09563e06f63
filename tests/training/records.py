"""Records in memory where a stage expects shards."""


class Records(list):
    """Records as a ShardReader has them."""

    def record(self, place: int) -> dict:
        return self[place]
