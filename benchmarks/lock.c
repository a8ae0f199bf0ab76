/* Stands before Python's two functions that let go of its lock and take it again, as NumPy, ctypes and others call them:
   counts the processor's time that threads spend between the two. See lock.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <time.h>

static _Thread_local long since;
static atomic_long free_ns, takes;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

void *PyEval_SaveThread(void) {
    static void *(*save)(void);
    if (!save) save = (void *(*)(void))dlsym(RTLD_NEXT, "PyEval_SaveThread");
    void *state = save();
    since = now();
    return state;
}

void PyEval_RestoreThread(void *state) {
    static void (*restore)(void *);
    if (!restore) restore = (void (*)(void *))dlsym(RTLD_NEXT, "PyEval_RestoreThread");
    atomic_fetch_add(&free_ns, now() - since);
    atomic_fetch_add(&takes, 1);
    restore(state);
}

long lock_free_ns(void) { return free_ns; }
long lock_takes(void) { return takes; }
