"""Canonical tokens everywhere in a text, with look-ahead: `canonical=True` (note 0040).

By default they count where a text is forced, which measured better (note 0041). canonical.py has the masks, rows.py the
tokens that may follow a place, lookahead.py which of them leave a canonical completion.
"""
