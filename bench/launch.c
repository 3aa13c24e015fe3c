/* launch FILE COMMAND...: run a command and write what it used to FILE: "wall_seconds cpu_seconds peak_kilobytes".
 *
 * Peak memory of a process counts what it was before exec(2), and a child of a Python process is as large as Python until
 * then: so a small program starts it. Exits as the command did, 128 + N when signal N ended it.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double seconds(struct timeval t)
{
	return t.tv_sec + t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
	int status;
	struct rusage used;
	if (argc < 3)
		return 2;
	double began = now();
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid)
		return 126;
	double wall = now() - began;
	FILE *out = fopen(argv[1], "w");
	if (!out)
		return 126;
	fprintf(out, "%.6f %.6f %ld\n", wall, seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
	fclose(out);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
