"""Regular expressions over bytes as lexer states."""
