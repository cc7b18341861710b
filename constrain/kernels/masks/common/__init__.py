"""What masks of both lexers need."""
