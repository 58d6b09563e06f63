"""What the small world knows and how it is talked about; data/conversation.py puts it together."""
