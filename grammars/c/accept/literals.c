int a[] = { 0, 1, 017, 0x1F, 0b11, 1u, 2UL, 3ull, 4LL, 5lu, 'a', '\n', '\'', '\\', '\0', '\x1f', '\u00e9', L'w', u'x', U'y', 'ab' };
double b[] = { 1., .5, 1.5e3, 1E-3, 2.f, 3.0L, 0x1p3, 0x1.8P-2, 1e+1F };
char *c = "", *d = "a\"b\\c\n\x41\101\u00e9" "joined"
  u8"utf", *e = "tab	é";
