/* SPDX-License-Identifier: BSD-3-Clause */
/* no_cma refuse|kill PROGRAM [ARGUMENT ...]: runs the program under a system call filter. `refuse`:
   process_vm_readv and process_vm_writev fail, as in many containers. `kill`: they, and
   prctl(PR_SET_PTRACER), end the process with SIGSYS. Exit code 77: filters are not allowed here. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int kill = strcmp(argv[1], "kill") == 0;
  const unsigned copies = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
  const unsigned permits = kill ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 5, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), /* its low half */
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_PTRACER, 2, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, copies),
      BPF_STMT(BPF_RET | BPF_K, permits),
  };
  const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("no_cma");
    return 77;
  }
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}
