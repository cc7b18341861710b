#include <stdio.h>
int x = 1
int y = 2;
