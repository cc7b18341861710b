class A { void f(int n) throws E {
  int a = 1, b[] = { 2 }, c; final var d = 3; ; { } String s; List<String> l; a.b.C<int[]>[] e; class Local { } record R(int x) { } enum N { Q } interface J { }
  if (a > b[0]) a++; else if (a < 1) { --a; } else ; while (a > 0) a--; do a++; while (a < 9); outer: for (;;) { break outer; }
  for (int i = 0, j = 1; i < n; i++, j--) continue; for (a = 0, c = 1; ; ) { break; } for (final String t : args) for (var u : t.split("")) ;
  switch (a) { case 1: case 2 + 3: a = 1; break; default: } switch (s) { case "x", "y" -> a = 1; case A -> { } default -> throw new E(); } switch (a) { }
  int g = switch (a) { case 1: yield 2; default: { yield (3); } } + switch (b) { default -> 1; };
  try { throw new E("x"); } catch (final E | F x) { } finally { } try (var r = open(); Reader q = r; this.in; r) { } try (r) { } catch (E x) { }
  synchronized (this) { } assert a > 0 : "no"; assert b; return; return a + b; new A(); a(); this.b(); super.c(); x.y.z(1); a = b += c; ++a.b; a[0]--;
  yield = 1; record = 2; open.module(sealed); var var = permits;
} }
