"""Regular expressions as lexer states."""
