typedef int t; struct s { int x; struct s *n; } v, *p; int a, b, c, d[9], f(int, ...);
int e(void) {
  a = b = c += 1, a -= 2, a *= 3, a /= 4, a %= 5, a <<= 6, a >>= 7, a &= 8, a ^= 9, a |= 10;
  a = b ? c : d[0] ? 1 : 2; a = b || c && a | b ^ c & a == b != c < a > b <= c >= a << b >> c + a - b * c / a % b;
  a = -b + +c - ~a * !b + *d - *&c; ++a; --b; a++; b--; a = sizeof a + sizeof(t) + sizeof(int *) + _Alignof(double);
  v.x = p->n->x; f(1)  ; f(a, f(2), d[f(3)]); (*&f)(1); a = (t)b; a = (t)(b) + (int)-c; p = &(struct s){ 1, .n = p, }; p = (struct s *)0;
  a = ((t[]){ 1, 2 })[0]; a = _Generic(a, int: 1, char *: 2, default: 3); a = (b, c); "a" "b"[0]; return a;
}
