"""Speech: engines, recordings, sentences, and the shards made from them."""
