class A { Object[] a = { 0, 1, 017, 0x1F, 0b10, 1_000, 0xFFL, 1l, 1., .5, 1.5e3, 1E-3f, 2d, 3F, 0x1p3, 0x.8P-2, 'a', '\n', '\'', '\\', '\u00e9', '\377', 'é',
  "", "a\"b\\c\t\s\0\101\u0041", "é", true, false, null,
  """
  A text "block" with ""two\"""
    \
  lines \s"""
}; }
