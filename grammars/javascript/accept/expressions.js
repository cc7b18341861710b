a = b ? c : d ? e : f, g ??= h, i ||= j &&= k, l **= 2, m >>>= 1;
x = a || b && c | d ^ e & f == g != h === i !== j < k > l <= m >= n << o >> p >>> q + r - s * t / u % v;
y = -a + +b - ~c ** 2 instanceof D in e;
z = typeof a, void 0, delete a.b, !a, ++a, a++, --b.c, b[c]--;
a?.b?.[c]?.(d)?.e; a.b.c[d](e)(f)`g`.h; new A; new A.B(c).d; new (a())(); new new A()();
a ? .5 : b; a?.5:1;
import("m").then(import.meta.url);
(a, b), [a, , b, ...c, ,], [], [,], [...a];
this.if.class.new = null
