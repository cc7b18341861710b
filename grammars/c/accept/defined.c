int (f)(int a) { } int *(*g(int a))(int b) { return 0; } int (*((h)(void)))[3] { return 0; } int k(a) int a; { }
