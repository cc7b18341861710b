int (f)(int a) { } int *(*g(int a))(int b) { return 0; } int (*((h)(void)))[3] { return 0; } int k(a) int a; { }
int l(a, b) int a; char *b; { } int (*m(c))[3] int c; { return 0; }
