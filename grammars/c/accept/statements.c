void f(int n) {
  int i = 0; ; { } if (n) i++; else if (i) n--; else { }
  while (i < n) i++; do { i--; } while (i); for (;;) break; for (int j = 0, k; j < n; j++, k++) continue; for (i = 0; ; ) goto out;
  switch (n) { case 1: case 2 + 3: i = 1; break; default: i = 2; }
out: ; inner: if (i) goto inner; _Static_assert(1, ""); typedef int t; t x; struct { int y; } z = { 0 };
  return; return (void)0;
}
int k(void) { return 1, 2; }
