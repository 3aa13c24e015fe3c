/* deep DEPTH: calls itself DEPTH times and asks for its parent for ever, at the bottom. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile int sink;

__attribute__((noinline, noclone)) void down(int depth)
{
    if (depth > 0)
        down(depth - 1);
    else
        for (;;)
            sink = syscall(SYS_getppid);
    sink++;
}

int main(int argc, char **argv)
{
    down(argc > 1 ? atoi(argv[1]) : 8);
    return sink;
}
