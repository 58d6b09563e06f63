"""What the small world knows and how it is talked about; data/dialogue/conversation.py puts it together."""
