a
/b/c
a // over
/* lines
*/ /= b
/c
d()
/ e / f
var g
/h i/.test(j)
{ }
/k l/.test(m)
for (;;) { break
/n o/.test(p) }
q = function () { }
/r/s
