#include <stdio.h>
#define GREETING "Hello, " \
    "world"

int main(int argc, char **argv)
{
    printf("%s %d\n", argv[0], argc); /* directives are passed over */
    return 0;
}
