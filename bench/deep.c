/* Something to sample: calls a dozen frames deep, a sort through the C library, and now and then a file of /proc. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long sink;

__attribute__((noinline)) static unsigned long squares(unsigned long n) {
	unsigned long sum = 0;
	for (unsigned long i = 0; i < n; i++)
		sum += (i * i) ^ sum;
	return sum;
}

__attribute__((noinline)) static unsigned long shifts(unsigned long n) {
	unsigned long sum = 2;
	for (unsigned long i = 0; i < n; i++)
		sum ^= (sum << 5) + i;
	return sum;
}

__attribute__((noinline)) static unsigned long down(int depth, unsigned long n) {
	char room[64];
	memset(room, depth, sizeof room);
	if (depth <= 0)
		return squares(n) + room[3];
	unsigned long below = down(depth - 1, n) + shifts(n / 8);
	sink += room[below & 63];
	return below;
}

static int compare(const void *a, const void *b) {
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

__attribute__((noinline)) static long sorted(unsigned n) {
	static long values[1024];
	for (unsigned i = 0; i < n; i++)
		values[i] = rand();
	qsort(values, n, sizeof *values, compare);
	return values[0];
}

int main(int count, char **words) {
	long rounds = count > 1 ? atol(words[1]) : 1000;
	for (long i = 0; i < rounds; i++) {
		sink += down(i % 12, 2000) + sorted(200 + i % 800);
		if (i % 64 == 0) {
			char text[400];
			FILE *file = fopen("/proc/self/stat", "r");
			if (file) {
				sink += fread(text, 1, sizeof text, file);
				fclose(file);
			}
		}
	}
	return 0;
}
