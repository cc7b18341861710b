a
(b)
// and
(c)[d]
/* so
on */ [e]
f = x => y, g = (x, y) /* here */ => z, async h => i
function j() { }
(k) => l
do m(); while (n)
[o] = p
var q
[r] = s
for (t of
[1]);
