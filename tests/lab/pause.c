/* What holds a pod open: waits for a signal to end it, and buries children that lost their parent
   (it is process 1 where the pod shares its process namespace). Linked statically. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int signal_number) {
  (void)signal_number;
  _exit(0);
}

static void on_child(int signal_number) {
  (void)signal_number;
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

int main(void) {
  struct sigaction end = {.sa_handler = on_end};
  struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP};
  if (sigaction(SIGTERM, &end, NULL) != 0 || sigaction(SIGINT, &end, NULL) != 0 ||
      sigaction(SIGCHLD, &child, NULL) != 0) {
    return 1;
  }
  for (;;) pause();
}
