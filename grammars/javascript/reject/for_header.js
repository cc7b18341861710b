for (a
b
c) d
