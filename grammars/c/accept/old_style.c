int max(a, b) int a, b; { return a > b ? a : b; }
int f(); int (g)(void) { return 1; } int *(*h(int x))[3] { return 0; }
