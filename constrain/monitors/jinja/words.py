"""The names that every template of Jinja 3.1 may use (https://jinja.palletsprojects.com/en/stable/templates/)."""

CONSTANTS = frozenset({"true", "false", "none", "True", "False", "None"})
GLOBALS = frozenset({"cycler", "dict", "joiner", "lipsum", "namespace", "range", "self"})
IN_MACROS = frozenset({"caller", "kwargs", "varargs"})
FILTERS = frozenset(
    "abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape format"
    " groupby indent int items join last length list lower map max min pprint random reject rejectattr replace reverse"
    " round safe select selectattr slice sort string striptags sum title tojson trim truncate unique upper urlencode"
    " urlize wordcount wordwrap xmlattr".split()
)
TESTS = frozenset(
    "boolean callable defined divisibleby eq equalto escaped even false filter float ge greaterthan gt in integer"
    " iterable le lessthan lower lt mapping ne none number odd sameas sequence string test true undefined upper".split()
)
LOOP = frozenset(
    "changed cycle depth depth0 first index index0 last length nextitem previtem revindex revindex0".split()
)
NO_ARGUMENT = frozenset({"else", "or", "and", "is"})  # after a test without arguments; other words are its argument
SYNTAX = frozenset(
    "and as block call do elif else endautoescape endblock endcall endfilter endfor endif endmacro endraw endset"
    " endtrans endwith extends from if import in include is not or raw recursive scoped with without".split()
)
SCOPES = frozenset({"for", "with", "filter", "macro", "call", "block", "autoescape", "set"})  # statements with a scope
EVERY = CONSTANTS | GLOBALS | IN_MACROS | FILTERS | TESTS | LOOP | NO_ARGUMENT | SCOPES | SYNTAX
