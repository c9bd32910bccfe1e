/* Does known things inside a container, so that counters can be checked against them. Linked
   statically. Usage: exercise DIR. Reads one command a line from the pipe DIR/in, writes for each
   "done V I M" (its own voluntary and involuntary context switches and its moves between CPUs meanwhile, as the kernel
   tells it; M is -1 where that does not) or "failed" to the pipe DIR/out; while no command comes it sleeps.
     migrate N   moves to the other of its first two allowed CPUs, N times
     switch N    gives up its CPU to sleep, N times
     touch N     writes to N pages never used before
     hold N      the same, and keeps them
     burn N      computes for N milliseconds of CPU time
     threads N   starts N threads more, which sleep for ever */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static int migrate(long count) {
  static int cpus[2];
  static int found = 0; /* the first time: afterwards it is bound to one */
  cpu_set_t allowed;
  if (found < 2 && sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return -1;
  for (int cpu = 0; cpu < CPU_SETSIZE && found < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus[found++] = cpu;
  }
  if (found < 2) return -1;
  int at = sched_getcpu() == cpus[0] ? 0 : 1;
  for (long i = 0; i < count; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    at = 1 - at;
    CPU_SET(cpus[at], &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return -1;
  }
  return 0; /* stays where it is: going back to all CPUs would let it migrate on its own */
}

static int give_up(long count) {
  const struct timespec moment = {.tv_sec = 0, .tv_nsec = 1000};
  for (long i = 0; i < count; ++i) nanosleep(&moment, NULL);
  return 0;
}

static char* written_pages(long count) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char* memory = mmap(NULL, page * (size_t)count, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return NULL;
  madvise(memory, page * (size_t)count, MADV_NOHUGEPAGE);
  for (long i = 0; i < count; ++i) memory[page * (size_t)i] = 1;
  return memory;
}

static int hold(long count) { return written_pages(count) == NULL ? -1 : 0; }

static int touch(long count) {
  char* memory = written_pages(count);
  return memory == NULL ? -1 : munmap(memory, (size_t)sysconf(_SC_PAGESIZE) * (size_t)count);
}

static long cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int burn(long ms) {
  const long end = cpu_ms() + ms;
  while (cpu_ms() < end) {
  }
  return 0;
}

static void* sleep_for_ever(void* nothing) {
  for (;;) pause();
  return nothing;
}

static int start_threads(long count) {
  pthread_attr_t small; /* one mapping for each, of which one page is used */
  if (pthread_attr_init(&small) != 0) return -1;
  int failed = pthread_attr_setstacksize(&small, (size_t)PTHREAD_STACK_MIN);
  if (failed == 0) failed = pthread_attr_setguardsize(&small, 0);
  for (long i = 0; i < count && failed == 0; ++i) {
    pthread_t thread;
    failed = pthread_create(&thread, &small, sleep_for_ever, NULL);
  }
  pthread_attr_destroy(&small);
  return failed == 0 ? 0 : -1;
}

static int run(const char* command, long count) {
  if (strcmp(command, "migrate") == 0) return migrate(count);
  if (strcmp(command, "switch") == 0) return give_up(count);
  if (strcmp(command, "touch") == 0) return touch(count);
  if (strcmp(command, "hold") == 0) return hold(count);
  if (strcmp(command, "burn") == 0) return burn(count);
  if (strcmp(command, "threads") == 0) return start_threads(count);
  return -1;
}

static long moves(void) {
  FILE* file = fopen("/proc/self/sched", "r");
  char line[128];
  long count = -1;
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "se.nr_migrations : %ld", &count) == 1) break;
  }
  if (file != NULL) fclose(file);
  return count;
}

static FILE* pipe_in(const char* folder, const char* name, const char* mode) {
  char path[256];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE* file = fopen(path, mode);
  if (file == NULL) exit(1);
  return file;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  FILE* in = pipe_in(argv[1], "in", "r+"); /* r+: no end of file when a writer closes */
  FILE* out = pipe_in(argv[1], "out", "r+");
  char line[64];
  while (fgets(line, sizeof(line), in) != NULL) {
    char command[16];
    long count = 0;
    const long moved = moves();
    struct rusage before;
    getrusage(RUSAGE_SELF, &before);
    const int words = sscanf(line, "%15s %ld", command, &count);
    const int done = words == 2 && count > 0 ? run(command, count) : -1;
    struct rusage after;
    getrusage(RUSAGE_SELF, &after);
    if (done == 0) {
      fprintf(out, "done %ld %ld %ld\n", after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw,
              moved < 0 ? -1 : moves() - moved);
    } else {
      fputs("failed\n", out);
    }
    fflush(out);
  }
  return 1;
}
