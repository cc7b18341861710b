o = { a, b: 1, 'c': 2, 3: 4, [d]: 5, e() { }, get f() { return 1 }, set f(v) { }, async g() { }, *h() { }, async *i() { }, ...j, get: 1, set, async, if: 2, 0x1F: 3, };
({ a, b: [c, d.e], ...f } = g);
[a, b] = [b, a]; [a.b, c[d], ...e] = f;
({}).toString(); ({ __proto__: null });
