"""Rules that cut unlikely tokens, with a fixed measure or one that follows the text."""
