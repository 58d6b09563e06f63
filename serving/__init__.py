"""The server: OpenAI's HTTP and realtime API over one loaded model, and the web page."""
