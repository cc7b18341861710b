"""Readers of grammar texts: Lark, GBNF and XGrammar's EBNF to rules, with errors that name their place."""
