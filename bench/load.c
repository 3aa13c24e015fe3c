/* What the benchmarks trace. Only system calls that do nothing: getppid(2), and close(2) of a descriptor that is not
 * open.
 *
 *   load cost SECONDS         time getppid() in batches, print the nanoseconds a call takes in the best batch
 *   load spin FILE PER_MS     close() for ever, PER_MS calls a millisecond (0: as fast as it goes); FILE, 8 bytes,
 *                             shows the number of calls so far
 *   load name FILE PER_MS     the same, of faccessat(2) with a path of 150 letters relative to no directory
 *   load emit COUNT PER_S     close() COUNT times at PER_S calls a second (0: as fast as it goes), print the seconds taken
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FD = 777777, BATCH = 20000 };

static double now(void) /* answered by the vDSO: no system call that a tracer would see */
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int cost(double seconds)
{
	double best = 1e9, end = now() + seconds;
	while (now() < end) {
		double began = now();
		for (int i = 0; i < BATCH; i++)
			syscall(SYS_getppid);
		double each = (now() - began) / BATCH * 1e9;
		if (each < best)
			best = each;
	}
	printf("%.2f\n", best);
	return 0;
}

static char path[151];

static void emit(uint64_t count, double per_second, volatile uint64_t *shown)
{
	double began = now();
	for (uint64_t i = 0; i < count; i++) {
		while (per_second > 0 && i > (now() - began) * per_second)
			;
		if (*path)
			syscall(SYS_faccessat, -1, path, 4);
		else
			syscall(SYS_close, FD);
		*shown = i + 1;
	}
}

int main(int argc, char **argv)
{
	static uint64_t ignored;
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(atof(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "emit")) {
		double began = now();
		emit(strtoull(argv[2], 0, 10), atof(argv[3]), &ignored);
		printf("%.6f\n", now() - began);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "name"))
		memset(path, 'p', sizeof path - 1);
	if (argc == 4 && (!strcmp(argv[1], "spin") || *path)) {
		int fd = open(argv[2], O_RDWR);
		uint64_t *shown = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (fd < 0 || shown == MAP_FAILED)
			return 1;
		emit(UINT64_MAX, atof(argv[3]) * 1000, shown);
	}
	return 2;
}
