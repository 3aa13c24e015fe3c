/* So many spans of a few microseconds; what they took by the clock that is read inside of them, in ns. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "probescope.h"

static volatile long sink;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 1, own = 0;
    for (long i = 0; i < count; i++) {
        PROBESCOPE_BEGIN(bench, unit, i);
        long before = now();
        for (int k = 0; k < 2000; k++)
            sink += k;
        own += now() - before;
        PROBESCOPE_END(bench, unit);
    }
    printf("own %ld ns in %ld\n", own, count);
    return 0;
}
