var a = 1, b, [c, , d = 2, ...e] = f, { g, h: i, j = 3, [k]: l = 4, ...m } = n;
let x = y; const z = 0;
if (a) b; else if (c) { d } else e;
for (var i = 0, n = 9; i < n; i++) continue;
for (;;) break;
for (const k in o) if (k) break; else continue;
for (x of [1, 2]) ;
for (let [p, q] of r) { }
while (a--) { }
do a++; while (a < 3)
switch (a) { case 1: b; case 2: { break } default: c; case 3: }
outer: for (;;) { inner: for (;;) continue outer; }
try { throw new Error("x"); } catch { } finally { debugger; }
try { } catch ({ message }) { }
with (a) b;
;;;
