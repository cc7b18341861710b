"""Readers: Lark, GBNF and XGrammar's EBNF -> rules, with located errors."""
