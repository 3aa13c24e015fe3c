"""A program without frame pointers whose stacks are known: by design, and by what glibc's own backtrace() says."""

from __future__ import annotations

import re

from collect_programs import build

#: unwound MODE...: each mode ends in ``leaf``, which writes "MODE ADDRESS..." of backtrace() and calls ``mark``, whose
#: system call is getppid. With WAIT set it says "ready" and waits for a line first; with STAY it goes on for ever.
UNWOUND_C = r"""
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <immintrin.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone, used))

volatile long sink;
static const char *mode;
static int quiet;

KEEP void mark(void) { sink += syscall(SYS_getppid); }

KEEP void leaf(void) {
    void *frames[64];
    int n = quiet ? 0 : backtrace(frames, 64);
    char line[2048];
    int used = snprintf(line, sizeof line, "%s", mode);
    for (int i = 1; i < n; i++) used += snprintf(line + used, sizeof line - used, " %lx", (long)frames[i]);
    if (!quiet) { puts(line); fflush(stdout); }
    mark();
    sink++;
}

KEEP void three(int n) { leaf(); sink += n; }
KEEP void two(int n) { three(n + 1); sink += n; }
KEEP void one(int n) { two(n + 1); sink += n; }
KEEP void nested(void) { one(1); sink++; }

KEEP void with_alloca(int n) { char *p = alloca(n * 16 + 8); memset(p, n, n * 16); sink += p[n]; leaf(); sink += p[0]; }
KEEP void dynamic(void) { with_alloca(sink % 3 + 5); sink++; }

KEEP void wide(int n) { volatile char big[100000]; big[n] = 1; leaf(); sink += big[0]; }
KEEP void large(void) { wide(3); sink++; }

KEEP void huge(int n) { volatile char big[400000]; big[n] = 1; leaf(); sink += big[0]; }

KEEP void aligned_frame(int n) {
    volatile char *space = alloca(n * 16);
    __attribute__((aligned(64))) volatile char cell[64];
    cell[0] = n; space[0] = 1; leaf(); sink += cell[0] + space[0];
}
KEEP void aligned(void) { aligned_frame(2); sink++; }

KEEP int compare(const void *a, const void *b) { leaf(); return *(const int *)a - *(const int *)b; }
KEEP void sorting(void) { int v[2] = {2, 1}; qsort(v, 2, sizeof v[0], compare); sink += v[0]; }

KEEP void handler(int s) { leaf(); sink += s; }
KEEP void signalled(void) { signal(SIGUSR1, handler); raise(SIGUSR1); sink++; }

KEEP void faulting(int *p) { *p = 1; sink++; }
static void *guarded;
KEEP void repair(int s) { leaf(); mprotect(guarded, 4096, PROT_READ | PROT_WRITE); sink += s; }
KEEP void faulted(void) { /* the interrupted place is no call: its address counts as it is */
    guarded = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, repair); faulting(guarded); sink++;
}

KEEP void *in_thread(void *p) { nested(); return p; }
KEEP void thread(void) { pthread_t t; pthread_create(&t, 0, in_thread, 0); pthread_join(t, 0); sink++; }

KEEP void recurse(int n) { if (n) recurse(n - 1); else leaf(); sink += n; }
KEEP void recursive(void) { recurse(20); sink++; }

KEEP void by_pointer(void (*f)(void)) { f(); sink++; }
KEEP void generated(const unsigned char *code, int size) {
    void *place = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(place, code, size);
    quiet = 1; /* backtrace() cannot pass such code */
    ((void (*)(void (*)(void)))place)(leaf);
    quiet = 0;
    sink++;
}
/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char framed_code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* sub $8,%rsp; xor %ebp,%ebp; call *%rdi; add $8,%rsp; ret */
static const unsigned char bare_code[] = {0x48, 0x83, 0xec, 8, 0x31, 0xed, 0xff, 0xd7, 0x48, 0x83, 0xc4, 8, 0xc3};
KEEP void jit_framed(void) { generated(framed_code, sizeof framed_code); sink++; }
KEEP void jit_bare(void) {
    __asm__ volatile("push %%rbp" ::: "memory");
    generated(bare_code, sizeof bare_code);
    __asm__ volatile("pop %%rbp" ::: "memory");
}

KEEP void in_child(void) { quiet = 1; nested(); sink++; }
KEEP void forked(void) {
    pid_t pid = fork();
    if (!pid) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) in_child(); }
    char line[8];
    if (!fgets(line, sizeof line, stdin)) sink++;
    kill(pid, SIGKILL); waitpid(pid, 0, 0);
}
KEEP void loaded(void) {
    quiet = 1;
    void *library = dlopen(getenv("LIBRARY"), RTLD_NOW);
    void (*callback)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library, "callback");
    for (;;) callback(nested);
}

#define MODE(name) {#name, name}
static const struct { const char *name; void (*run)(void); } modes[] = {
    MODE(nested), MODE(dynamic), MODE(large), MODE(aligned), MODE(sorting), MODE(signalled), MODE(faulted),
    MODE(thread), MODE(recursive), MODE(jit_framed), MODE(jit_bare), MODE(forked), MODE(loaded)};

int main(int argc, char **argv) {
    char line[16];
    void *first[4];
    backtrace(first, 4); /* loads libgcc, which is not to happen in between */
    if (getenv("WAIT")) {
        fprintf(stderr, "ready %d\n", getpid());
        if (!fgets(line, sizeof line, stdin)) return 7;
    }
    do {
        for (int i = 1; i < argc; i++) {
            mode = argv[i];
            for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
                if (!strcmp(mode, modes[m].name)) by_pointer(modes[m].run);
        }
    } while (getenv("STAY"));
    return 0;
}
"""

LIBRARY_C = 'void callback(void (*f)(void)) { f(); __asm__ volatile(""); }\n'
_FLAGS = ("-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-fPIE", "-pie", "-fno-ipa-ra")

#: What every stack of the main thread ends in.
OUTER = ["by_pointer", "main", "__libc_start_call_main", "__libc_start_main", "_start"]
#: By mode: the functions from the one that called ``leaf`` on, up to the mode's own. "*": some of the C library's.
EXPECTED = {
    "nested": ["three", "two", "one", "nested"],
    "dynamic": ["with_alloca", "dynamic"],
    "large": ["wide", "large"],
    "aligned": ["aligned_frame", "aligned"],
    "sorting": ["compare", "*", "sorting"],
    "signalled": ["handler", "__restore_rt", "*", "raise", "signalled"],
    "faulted": ["repair", "__restore_rt", "faulting", "faulted"],
    "recursive": ["recurse"] * 21 + ["recursive"],
}


def unwound() -> str:
    return build("unwound", UNWOUND_C, *_FLAGS)


def library() -> str:
    return build("library.so", LIBRARY_C, "-O2", "-fomit-frame-pointer", "-fPIC", "-shared", "-nostdlib")


def names(text: str) -> list[str]:
    """Function names of a stack as printed; addresses without a name as they are."""
    return re.findall(r"^[ \t]+([^\s+]+)(?:\+\d+(?:@\S+:\d+)?| \(.*\))?$", text, re.MULTILINE)


def same(found: list[str], expected: list[str]) -> bool:
    """Whether the names are those; "*" stands for one or more others."""
    if not expected:
        return not found
    if expected[0] == "*":
        return any(same(found[n:], expected[1:]) for n in range(1, len(found) + 1))
    return bool(found) and found[0] == expected[0] and same(found[1:], expected[1:])
