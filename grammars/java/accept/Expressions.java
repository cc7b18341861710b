class A { Object o =
  a ? b : c ? d : e; int i = a = b *= c /= d %= e += f -= g <<= h >>= j >>>= k &= l ^= m |= n;
  boolean p = a || b && c | d ^ e & f == g != h < i == j > k <= l >= m instanceof String == (n instanceof final List<?> q && !r);
  int s = a << b >> c >>> d + e - f * g / h % -i + +j - ~k; Object t = (int) a + (String) b + (List<String>) (c) + (A & B) d + (int[]) -e + (byte) +1;
  Object u = x -> x, v = (x, y) -> { return x; }, w = () -> 1, z = (int q, final List<?> r, String... s) -> s, aa = (Runnable & B) () -> { };
  Object ab = String::valueOf, ac = int[]::new, ad = ArrayList<String>::new, ae = this::<T>f, af = super::g, ag = (a.b)::c, ah = A.super::d;
  Object ai = new A().new B<>(1) { int c; }, aj = new int[3][a + b][], ak = new String[][] { { "a" }, { }, }, al = new <T>A<int[]>(), am = new @B A.C<D>();
  Object an = int.class, ao = String[][].class, ap = a.b.C.class, aq = void.class, ar = A.this, as = a.this.b, at = f(1).g()[2].h, au = Collections.<String>emptyList(), av = (a)[1], aw = ((a));
  boolean ax = a < b, ay = f(a < b, c > d), az = a.b.c < d >> 1;
}
