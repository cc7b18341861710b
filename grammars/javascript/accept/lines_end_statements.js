#!/usr/bin/env node
'use strict'
var a = 1
let b = a
  + 2
const f = function () { return }
f()
a = b
  .c(d)   // a comment
  // another one
  .e
if (a) b
else c
do a
while (b) c()
for (;;) { break }
return_: { a
  ++
  b
}
a /* over
lines */ b
x = { y: 1 }
;[1].map(n => n)
