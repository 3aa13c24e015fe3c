"""The system calls of x86-64 and AArch64, as data: ``name  x86-64  AArch64  arguments``; ``-`` where an architecture
has none.

Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux 6.19; arguments: the
SYSCALL_DEFINE lines, as the kernel itself declares them in ``events/syscalls/sys_enter_*/format``. Every pointer points
into user space. Only ``model/syscalls.py`` reads this. A line that begins with a space continues the one before; calls
without arguments share lines.
"""

from __future__ import annotations

TABLE = """\
read 0 63 unsigned int fd, char *buf, size_t count
write 1 64 unsigned int fd, const char *buf, size_t count
open 2 - const char *filename, int flags, umode_t mode
close 3 57 unsigned int fd
stat 4 - const char *filename, struct stat *statbuf
fstat 5 80 unsigned int fd, struct stat *statbuf
lstat 6 - const char *filename, struct stat *statbuf
poll 7 - struct pollfd *ufds, unsigned int nfds, int timeout_msecs
lseek 8 62 unsigned int fd, off_t offset, unsigned int whence
mmap 9 222 unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd,
  unsigned long off
mprotect 10 226 unsigned long start, size_t len, unsigned long prot
munmap 11 215 unsigned long addr, size_t len; brk 12 214 unsigned long brk
rt_sigaction 13 134 int sig, const struct sigaction *act, struct sigaction *oact, size_t sigsetsize
rt_sigprocmask 14 135 int how, sigset_t *nset, sigset_t *oset, size_t sigsetsize
ioctl 16 29 unsigned int fd, unsigned int cmd, unsigned long arg
pread64 17 67 unsigned int fd, char *buf, size_t count, loff_t pos
pwrite64 18 68 unsigned int fd, const char *buf, size_t count, loff_t pos
readv 19 65 unsigned long fd, const struct iovec *vec, unsigned long vlen
writev 20 66 unsigned long fd, const struct iovec *vec, unsigned long vlen
access 21 - const char *filename, int mode; pipe 22 - int *fildes
select 23 - int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_old_timeval *tvp
mremap 25 216 unsigned long addr, unsigned long old_len, unsigned long new_len, unsigned long flags,
  unsigned long new_addr
msync 26 227 unsigned long start, size_t len, int flags
mincore 27 232 unsigned long start, size_t len, unsigned char *vec
madvise 28 233 unsigned long start, size_t len_in, int behavior
shmget 29 194 key_t key, size_t size, int shmflg
shmat 30 196 int shmid, char *shmaddr, int shmflg
shmctl 31 195 int shmid, int cmd, struct shmid_ds *buf
dup 32 23 unsigned int fildes
dup2 33 - unsigned int oldfd, unsigned int newfd
nanosleep 35 101 struct __kernel_timespec *rqtp, struct __kernel_timespec *rmtp
getitimer 36 102 int which, struct __kernel_old_itimerval *value
alarm 37 - unsigned int seconds
setitimer 38 103 int which, struct __kernel_old_itimerval *value, struct __kernel_old_itimerval *ovalue
sendfile 40 71 int out_fd, int in_fd, loff_t *offset, size_t count
socket 41 198 int family, int type, int protocol
connect 42 203 int fd, struct sockaddr *uservaddr, int addrlen
accept 43 202 int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen
sendto 44 206 int fd, void *buff, size_t len, unsigned int flags, struct sockaddr *addr, int addr_len
recvfrom 45 207 int fd, void *ubuf, size_t size, unsigned int flags, struct sockaddr *addr, int *addr_len
sendmsg 46 211 int fd, struct user_msghdr *msg, unsigned int flags
recvmsg 47 212 int fd, struct user_msghdr *msg, unsigned int flags
shutdown 48 210 int fd, int how
bind 49 200 int fd, struct sockaddr *umyaddr, int addrlen
listen 50 201 int fd, int backlog
getsockname 51 204 int fd, struct sockaddr *usockaddr, int *usockaddr_len
getpeername 52 205 int fd, struct sockaddr *usockaddr, int *usockaddr_len
socketpair 53 199 int family, int type, int protocol, int *usockvec
setsockopt 54 208 int fd, int level, int optname, char *optval, int optlen
getsockopt 55 209 int fd, int level, int optname, char *optval, int *optlen
clone 56 220 unsigned long clone_flags, unsigned long newsp, int *parent_tidptr, int *child_tidptr,
  unsigned long tls
execve 59 221 const char *filename, const char *const *argv, const char *const *envp
exit 60 93 int error_code
wait4 61 260 pid_t upid, int *stat_addr, int options, struct rusage *ru
kill 62 129 pid_t pid, int sig; uname 63 160 struct new_utsname *name
semget 64 190 key_t key, int nsems, int semflg
semop 65 193 int semid, struct sembuf *tsops, unsigned nsops
semctl 66 191 int semid, int semnum, int cmd, unsigned long arg
shmdt 67 197 char *shmaddr; msgget 68 186 key_t key, int msgflg
msgsnd 69 189 int msqid, struct msgbuf *msgp, size_t msgsz, int msgflg
msgrcv 70 188 int msqid, struct msgbuf *msgp, size_t msgsz, long msgtyp, int msgflg
msgctl 71 187 int msqid, int cmd, struct msqid_ds *buf
fcntl 72 25 unsigned int fd, unsigned int cmd, unsigned long arg
flock 73 32 unsigned int fd, unsigned int cmd; fsync 74 82 unsigned int fd
fdatasync 75 83 unsigned int fd; truncate 76 45 const char *path, long length
ftruncate 77 46 unsigned int fd, off_t length
getdents 78 - unsigned int fd, struct linux_dirent *dirent, unsigned int count
getcwd 79 17 char *buf, unsigned long size; chdir 80 49 const char *filename
fchdir 81 50 unsigned int fd
rename 82 - const char *oldname, const char *newname
mkdir 83 - const char *pathname, umode_t mode; rmdir 84 - const char *pathname
creat 85 - const char *pathname, umode_t mode
link 86 - const char *oldname, const char *newname
unlink 87 - const char *pathname
symlink 88 - const char *oldname, const char *newname
readlink 89 - const char *path, char *buf, int bufsiz
chmod 90 - const char *filename, umode_t mode; fchmod 91 52 unsigned int fd, umode_t mode
chown 92 - const char *filename, uid_t user, gid_t group
fchown 93 55 unsigned int fd, uid_t user, gid_t group
lchown 94 - const char *filename, uid_t user, gid_t group
umask 95 166 int mask
gettimeofday 96 169 struct __kernel_old_timeval *tv, struct timezone *tz
getrlimit 97 163 unsigned int resource, struct rlimit *rlim
getrusage 98 165 int who, struct rusage *ru; sysinfo 99 179 struct sysinfo *info
times 100 153 struct tms *tbuf
ptrace 101 117 long request, long pid, unsigned long addr, unsigned long data
syslog 103 116 int type, char *buf, int len; setuid 105 146 uid_t uid
setgid 106 144 gid_t gid; setpgid 109 154 pid_t pid, pid_t pgid
setreuid 113 145 uid_t ruid, uid_t euid; setregid 114 143 gid_t rgid, gid_t egid
getgroups 115 158 int gidsetsize, gid_t *grouplist
setgroups 116 159 int gidsetsize, gid_t *grouplist
setresuid 117 147 uid_t ruid, uid_t euid, uid_t suid
getresuid 118 148 uid_t *ruidp, uid_t *euidp, uid_t *suidp
setresgid 119 149 gid_t rgid, gid_t egid, gid_t sgid
getresgid 120 150 gid_t *rgidp, gid_t *egidp, gid_t *sgidp
getpgid 121 155 pid_t pid; setfsuid 122 151 uid_t uid
setfsgid 123 152 gid_t gid; getsid 124 156 pid_t pid
capget 125 90 cap_user_header_t header, cap_user_data_t dataptr
capset 126 91 cap_user_header_t header, const cap_user_data_t data
rt_sigpending 127 136 sigset_t *uset, size_t sigsetsize
rt_sigtimedwait 128 137 const sigset_t *uthese, siginfo_t *uinfo, const struct __kernel_timespec *uts,
  size_t sigsetsize
rt_sigqueueinfo 129 138 pid_t pid, int sig, siginfo_t *uinfo
rt_sigsuspend 130 133 sigset_t *unewset, size_t sigsetsize
sigaltstack 131 132 const stack_t *uss, stack_t *uoss
utime 132 - char *filename, struct utimbuf *times
mknod 133 - const char *filename, umode_t mode, unsigned dev
uselib 134 - const char *library; personality 135 92 unsigned int personality
ustat 136 - unsigned dev, struct ustat *ubuf
statfs 137 43 const char *pathname, struct statfs *buf
fstatfs 138 44 unsigned int fd, struct statfs *buf
sysfs 139 - int option, unsigned long arg1, unsigned long arg2
getpriority 140 141 int which, int who
setpriority 141 140 int which, int who, int niceval
sched_setparam 142 118 pid_t pid, struct sched_param *param
sched_getparam 143 121 pid_t pid, struct sched_param *param
sched_setscheduler 144 119 pid_t pid, int policy, struct sched_param *param
sched_getscheduler 145 120 pid_t pid; sched_get_priority_max 146 125 int policy
sched_get_priority_min 147 126 int policy
sched_rr_get_interval 148 127 pid_t pid, struct __kernel_timespec *interval
mlock 149 228 unsigned long start, size_t len
munlock 150 229 unsigned long start, size_t len
mlockall 151 230 int flags
modify_ldt 154 - int func, void *ptr, unsigned long bytecount
pivot_root 155 41 const char *new_root, const char *put_old
prctl 157 167 int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5
arch_prctl 158 - int option, unsigned long arg2
adjtimex 159 171 struct __kernel_timex *txc_p
setrlimit 160 164 unsigned int resource, struct rlimit *rlim
chroot 161 51 const char *filename; acct 163 89 const char *name
settimeofday 164 170 struct __kernel_old_timeval *tv, struct timezone *tz
mount 165 40 char *dev_name, char *dir_name, char *type, unsigned long flags, void *data
umount2 166 39 char *name, int flags
swapon 167 224 const char *specialfile, int swap_flags
swapoff 168 225 const char *specialfile
reboot 169 142 int magic1, int magic2, unsigned int cmd, void *arg
sethostname 170 161 char *name, int len; setdomainname 171 162 char *name, int len
iopl 172 - unsigned int level
ioperm 173 - unsigned long from, unsigned long num, int turn_on
init_module 175 105 void *umod, unsigned long len, const char *uargs
delete_module 176 106 const char *name_user, unsigned int flags
quotactl 179 60 unsigned int cmd, const char *special, qid_t id, void *addr
readahead 187 213 int fd, loff_t offset, size_t count
setxattr 188 5 const char *pathname, const char *name, const void *value, size_t size, int flags
lsetxattr 189 6 const char *pathname, const char *name, const void *value, size_t size, int flags
fsetxattr 190 7 int fd, const char *name, const void *value, size_t size, int flags
getxattr 191 8 const char *pathname, const char *name, void *value, size_t size
lgetxattr 192 9 const char *pathname, const char *name, void *value, size_t size
fgetxattr 193 10 int fd, const char *name, void *value, size_t size
listxattr 194 11 const char *pathname, char *list, size_t size
llistxattr 195 12 const char *pathname, char *list, size_t size
flistxattr 196 13 int fd, char *list, size_t size
removexattr 197 14 const char *pathname, const char *name
lremovexattr 198 15 const char *pathname, const char *name
fremovexattr 199 16 int fd, const char *name; tkill 200 130 pid_t pid, int sig
time 201 - __kernel_old_time_t *tloc
futex 202 98 u32 *uaddr, int op, u32 val, const struct __kernel_timespec *utime, u32 *uaddr2, u32 val3
sched_setaffinity 203 122 pid_t pid, unsigned int len, unsigned long *user_mask_ptr
sched_getaffinity 204 123 pid_t pid, unsigned int len, unsigned long *user_mask_ptr
io_setup 206 0 unsigned nr_events, aio_context_t *ctxp
io_destroy 207 1 aio_context_t ctx
io_getevents 208 4 aio_context_t ctx_id, long min_nr, long nr, struct io_event *events,
  struct __kernel_timespec *timeout
io_submit 209 2 aio_context_t ctx_id, long nr, struct iocb * *iocbpp
io_cancel 210 3 aio_context_t ctx_id, struct iocb *iocb, struct io_event *result
lookup_dcookie 212 18 u64 cookie64, char *buf, size_t len
epoll_create 213 - int size
remap_file_pages 216 234 unsigned long start, unsigned long size, unsigned long prot, unsigned long pgoff,
  unsigned long flags
getdents64 217 61 unsigned int fd, struct linux_dirent64 *dirent, unsigned int count
set_tid_address 218 96 int *tidptr
semtimedop 220 192 int semid, struct sembuf *tsops, unsigned int nsops, const struct __kernel_timespec *timeout
fadvise64 221 223 int fd, loff_t offset, size_t len, int advice
timer_create 222 107 const clockid_t which_clock, struct sigevent *timer_event_spec, timer_t *created_timer_id
timer_settime 223 110 timer_t timer_id, int flags, const struct __kernel_itimerspec *new_setting,
  struct __kernel_itimerspec *old_setting
timer_gettime 224 108 timer_t timer_id, struct __kernel_itimerspec *setting
timer_getoverrun 225 109 timer_t timer_id; timer_delete 226 111 timer_t timer_id
clock_settime 227 112 const clockid_t which_clock, const struct __kernel_timespec *tp
clock_gettime 228 113 const clockid_t which_clock, struct __kernel_timespec *tp
clock_getres 229 114 const clockid_t which_clock, struct __kernel_timespec *tp
clock_nanosleep 230 115 const clockid_t which_clock, int flags, const struct __kernel_timespec *rqtp,
  struct __kernel_timespec *rmtp
exit_group 231 94 int error_code
epoll_wait 232 - int epfd, struct epoll_event *events, int maxevents, int timeout
epoll_ctl 233 21 int epfd, int op, int fd, struct epoll_event *event
tgkill 234 131 pid_t tgid, pid_t pid, int sig
utimes 235 - char *filename, struct __kernel_old_timeval *utimes
mbind 237 235 unsigned long start, unsigned long len, unsigned long mode, const unsigned long *nmask,
  unsigned long maxnode, unsigned int flags
set_mempolicy 238 237 int mode, const unsigned long *nmask, unsigned long maxnode
get_mempolicy 239 236 int *policy, unsigned long *nmask, unsigned long maxnode, unsigned long addr,
  unsigned long flags
mq_open 240 180 const char *u_name, int oflag, umode_t mode, struct mq_attr *u_attr
mq_unlink 241 181 const char *u_name
mq_timedsend 242 182 mqd_t mqdes, const char *u_msg_ptr, size_t msg_len, unsigned int msg_prio,
  const struct __kernel_timespec *u_abs_timeout
mq_timedreceive 243 183 mqd_t mqdes, char *u_msg_ptr, size_t msg_len, unsigned int *u_msg_prio,
  const struct __kernel_timespec *u_abs_timeout
mq_notify 244 184 mqd_t mqdes, const struct sigevent *u_notification
mq_getsetattr 245 185 mqd_t mqdes, const struct mq_attr *u_mqstat, struct mq_attr *u_omqstat
kexec_load 246 104 unsigned long entry, unsigned long nr_segments, struct kexec_segment *segments,
  unsigned long flags
waitid 247 95 int which, pid_t upid, struct siginfo *infop, int options, struct rusage *ru
add_key 248 217 const char *_type, const char *_description, const void *_payload, size_t plen, key_serial_t ringid
request_key 249 218 const char *_type, const char *_description, const char *_callout_info, key_serial_t destringid
keyctl 250 219 int option, unsigned long arg2, unsigned long arg3, unsigned long arg4, unsigned long arg5
ioprio_set 251 30 int which, int who, int ioprio
ioprio_get 252 31 int which, int who
inotify_add_watch 254 27 int fd, const char *pathname, u32 mask
inotify_rm_watch 255 28 int fd, __s32 wd
migrate_pages 256 238 pid_t pid, unsigned long maxnode, const unsigned long *old_nodes,
  const unsigned long *new_nodes
openat 257 56 int dfd, const char *filename, int flags, umode_t mode
mkdirat 258 34 int dfd, const char *pathname, umode_t mode
mknodat 259 33 int dfd, const char *filename, umode_t mode, unsigned int dev
fchownat 260 54 int dfd, const char *filename, uid_t user, gid_t group, int flag
futimesat 261 - int dfd, const char *filename, struct __kernel_old_timeval *utimes
newfstatat 262 79 int dfd, const char *filename, struct stat *statbuf, int flag
unlinkat 263 35 int dfd, const char *pathname, int flag
renameat 264 38 int olddfd, const char *oldname, int newdfd, const char *newname
linkat 265 37 int olddfd, const char *oldname, int newdfd, const char *newname, int flags
symlinkat 266 36 const char *oldname, int newdfd, const char *newname
readlinkat 267 78 int dfd, const char *pathname, char *buf, int bufsiz
fchmodat 268 53 int dfd, const char *filename, umode_t mode
faccessat 269 48 int dfd, const char *filename, int mode
pselect6 270 72 int n, fd_set *inp, fd_set *outp, fd_set *exp, struct __kernel_timespec *tsp, void *sig
ppoll 271 73 struct pollfd *ufds, unsigned int nfds, struct __kernel_timespec *tsp, const sigset_t *sigmask,
  size_t sigsetsize
unshare 272 97 unsigned long unshare_flags
set_robust_list 273 99 struct robust_list_head *head, size_t len
get_robust_list 274 100 int pid, struct robust_list_head * *head_ptr, size_t *len_ptr
splice 275 76 int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags
tee 276 77 int fdin, int fdout, size_t len, unsigned int flags
sync_file_range 277 84 int fd, loff_t offset, loff_t nbytes, unsigned int flags
vmsplice 278 75 int fd, const struct iovec *uiov, unsigned long nr_segs, unsigned int flags
move_pages 279 239 pid_t pid, unsigned long nr_pages, const void * *pages, const int *nodes, int *status, int flags
utimensat 280 88 int dfd, const char *filename, struct __kernel_timespec *utimes, int flags
epoll_pwait 281 22 int epfd, struct epoll_event *events, int maxevents, int timeout, const sigset_t *sigmask,
  size_t sigsetsize
signalfd 282 - int ufd, sigset_t *user_mask, size_t sizemask
timerfd_create 283 85 int clockid, int flags; eventfd 284 - unsigned int count
fallocate 285 47 int fd, int mode, loff_t offset, loff_t len
timerfd_settime 286 86 int ufd, int flags, const struct __kernel_itimerspec *utmr, struct __kernel_itimerspec *otmr
timerfd_gettime 287 87 int ufd, struct __kernel_itimerspec *otmr
accept4 288 242 int fd, struct sockaddr *upeer_sockaddr, int *upeer_addrlen, int flags
signalfd4 289 74 int ufd, sigset_t *user_mask, size_t sizemask, int flags
eventfd2 290 19 unsigned int count, int flags; epoll_create1 291 20 int flags
dup3 292 24 unsigned int oldfd, unsigned int newfd, int flags
pipe2 293 59 int *fildes, int flags; inotify_init1 294 26 int flags
preadv 295 69 unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l,
  unsigned long pos_h
pwritev 296 70 unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l,
  unsigned long pos_h
rt_tgsigqueueinfo 297 240 pid_t tgid, pid_t pid, int sig, siginfo_t *uinfo
perf_event_open 298 241 struct perf_event_attr *attr_uptr, pid_t pid, int cpu, int group_fd, unsigned long flags
recvmmsg 299 243 int fd, struct mmsghdr *mmsg, unsigned int vlen, unsigned int flags,
  struct __kernel_timespec *timeout
fanotify_init 300 262 unsigned int flags, unsigned int event_f_flags
fanotify_mark 301 263 int fanotify_fd, unsigned int flags, __u64 mask, int dfd, const char *pathname
prlimit64 302 261 pid_t pid, unsigned int resource, const struct rlimit64 *new_rlim, struct rlimit64 *old_rlim
name_to_handle_at 303 264 int dfd, const char *name, struct file_handle *handle, void *mnt_id, int flag
open_by_handle_at 304 265 int mountdirfd, struct file_handle *handle, int flags
clock_adjtime 305 266 const clockid_t which_clock, struct __kernel_timex *utx
syncfs 306 267 int fd
sendmmsg 307 269 int fd, struct mmsghdr *mmsg, unsigned int vlen, unsigned int flags
setns 308 268 int fd, int flags
getcpu 309 168 unsigned *cpup, unsigned *nodep, struct getcpu_cache *unused
process_vm_readv 310 270 pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec,
  unsigned long riovcnt, unsigned long flags
process_vm_writev 311 271 pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec,
  unsigned long riovcnt, unsigned long flags
kcmp 312 272 pid_t pid1, pid_t pid2, int type, unsigned long idx1, unsigned long idx2
finit_module 313 273 int fd, const char *uargs, int flags
sched_setattr 314 274 pid_t pid, struct sched_attr *uattr, unsigned int flags
sched_getattr 315 275 pid_t pid, struct sched_attr *uattr, unsigned int usize, unsigned int flags
renameat2 316 276 int olddfd, const char *oldname, int newdfd, const char *newname, unsigned int flags
seccomp 317 277 unsigned int op, unsigned int flags, void *uargs
getrandom 318 278 char *ubuf, size_t len, unsigned int flags
memfd_create 319 279 const char *uname, unsigned int flags
kexec_file_load 320 294 int kernel_fd, int initrd_fd, unsigned long cmdline_len, const char *cmdline_ptr,
  unsigned long flags
bpf 321 280 int cmd, union bpf_attr *uattr, unsigned int size
execveat 322 281 int fd, const char *filename, const char *const *argv, const char *const *envp, int flags
userfaultfd 323 282 int flags
membarrier 324 283 int cmd, unsigned int flags, int cpu_id
mlock2 325 284 unsigned long start, size_t len, int flags
copy_file_range 326 285 int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags
preadv2 327 286 unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l,
  unsigned long pos_h, rwf_t flags
pwritev2 328 287 unsigned long fd, const struct iovec *vec, unsigned long vlen, unsigned long pos_l,
  unsigned long pos_h, rwf_t flags
pkey_mprotect 329 288 unsigned long start, size_t len, unsigned long prot, int pkey
pkey_alloc 330 289 unsigned long flags, unsigned long init_val
pkey_free 331 290 int pkey
statx 332 291 int dfd, const char *filename, unsigned flags, unsigned int mask, struct statx *buffer
io_pgetevents 333 292 aio_context_t ctx_id, long min_nr, long nr, struct io_event *events,
  struct __kernel_timespec *timeout, const struct __aio_sigset *usig
rseq 334 293 struct rseq *rseq, u32 rseq_len, int flags, u32 sig
pidfd_send_signal 424 424 int pidfd, int sig, siginfo_t *info, unsigned int flags
io_uring_setup 425 425 u32 entries, struct io_uring_params *params
io_uring_enter 426 426 unsigned int fd, u32 to_submit, u32 min_complete, u32 flags, const void *argp, size_t argsz
io_uring_register 427 427 unsigned int fd, unsigned int opcode, void *arg, unsigned int nr_args
open_tree 428 428 int dfd, const char *filename, unsigned flags
move_mount 429 429 int from_dfd, const char *from_pathname, int to_dfd, const char *to_pathname, unsigned int flags
fsopen 430 430 const char *_fs_name, unsigned int flags
fsconfig 431 431 int fd, unsigned int cmd, const char *_key, const void *_value, int aux
fsmount 432 432 int fs_fd, unsigned int flags, unsigned int attr_flags
fspick 433 433 int dfd, const char *path, unsigned int flags
pidfd_open 434 434 pid_t pid, unsigned int flags
clone3 435 435 struct clone_args *uargs, size_t size
close_range 436 436 unsigned int fd, unsigned int max_fd, unsigned int flags
openat2 437 437 int dfd, const char *filename, struct open_how *how, size_t usize
pidfd_getfd 438 438 int pidfd, int fd, unsigned int flags
faccessat2 439 439 int dfd, const char *filename, int mode, int flags
process_madvise 440 440 int pidfd, const struct iovec *vec, size_t vlen, int behavior, unsigned int flags
epoll_pwait2 441 441 int epfd, struct epoll_event *events, int maxevents,
  const struct __kernel_timespec *timeout, const sigset_t *sigmask, size_t sigsetsize
mount_setattr 442 442 int dfd, const char *path, unsigned int flags, struct mount_attr *uattr, size_t usize
quotactl_fd 443 443 unsigned int fd, unsigned int cmd, qid_t id, void *addr
landlock_create_ruleset 444 444 const struct landlock_ruleset_attr *const attr, const size_t size, const __u32 flags
landlock_add_rule 445 445 const int ruleset_fd, const enum landlock_rule_type rule_type,
  const void *const rule_attr, const __u32 flags
landlock_restrict_self 446 446 const int ruleset_fd, const __u32 flags
memfd_secret 447 447 unsigned int flags
process_mrelease 448 448 int pidfd, unsigned int flags
futex_waitv 449 449 struct futex_waitv *waiters, unsigned int nr_futexes, unsigned int flags,
  struct __kernel_timespec *timeout, clockid_t clockid
set_mempolicy_home_node 450 450 unsigned long start, unsigned long len, unsigned long home_node, unsigned long flags
cachestat 451 451 unsigned int fd, struct cachestat_range *cstat_range, struct cachestat *cstat, unsigned int flags
fchmodat2 452 452 int dfd, const char *filename, umode_t mode, unsigned int flags
map_shadow_stack 453 453 unsigned long addr, unsigned long size, unsigned int flags
futex_wake 454 454 void *uaddr, unsigned long mask, int nr, unsigned int flags
futex_wait 455 455 void *uaddr, unsigned long val, unsigned long mask, unsigned int flags,
  struct __kernel_timespec *timeout, clockid_t clockid
futex_requeue 456 456 struct futex_waitv *waiters, unsigned int flags, int nr_wake, int nr_requeue
statmount 457 457 const struct mnt_id_req *req, struct statmount *buf, size_t bufsize, unsigned int flags
listmount 458 458 const struct mnt_id_req *req, u64 *mnt_ids, size_t nr_mnt_ids, unsigned int flags
lsm_get_self_attr 459 459 unsigned int attr, struct lsm_ctx *ctx, u32 *size, u32 flags
lsm_set_self_attr 460 460 unsigned int attr, struct lsm_ctx *ctx, u32 size, u32 flags
lsm_list_modules 461 461 u64 *ids, u32 *size, u32 flags
mseal 462 462 unsigned long start, size_t len, unsigned long flags
setxattrat 463 463 int dfd, const char *pathname, unsigned int at_flags, const char *name,
  const struct xattr_args *uargs, size_t usize
getxattrat 464 464 int dfd, const char *pathname, unsigned int at_flags, const char *name,
  struct xattr_args *uargs, size_t usize
listxattrat 465 465 int dfd, const char *pathname, unsigned int at_flags, char *list, size_t size
removexattrat 466 466 int dfd, const char *pathname, unsigned int at_flags, const char *name
open_tree_attr 467 467 int dfd, const char *filename, unsigned flags, struct mount_attr *uattr, size_t usize
file_getattr 468 468 int dfd, const char *filename, struct file_attr *ufattr, size_t usize, unsigned int at_flags
file_setattr 469 469 int dfd, const char *filename, struct file_attr *ufattr, size_t usize, unsigned int at_flags
listns 470 470 const struct ns_id_req *req, u64 *ns_ids, size_t nr_ns_ids, unsigned int flags
"""

WITHOUT_ARGUMENTS = """\
rt_sigreturn 15 139; sched_yield 24 124; pause 34 -; getpid 39 172; fork 57 -; vfork 58 -; getuid 102 174
getgid 104 176; geteuid 107 175; getegid 108 177; getppid 110 173; getpgrp 111 -; setsid 112 157; munlockall 152 231;
vhangup 153 58; sync 162 81; gettid 186 178; restart_syscall 219 128; inotify_init 253 -; uretprobe 335 -;
uprobe 336 -; rseq_slice_yield 471 471
"""

RESERVED = """\
_sysctl 156 -; create_module 174 -; get_kernel_syms 177 -; query_module 178 -; nfsservctl 180 42; getpmsg 181 -;
putpmsg 182 -; afs_syscall 183 -; tuxcall 184 -; security 185 -; set_thread_area 205 -; get_thread_area 211 -;
epoll_ctl_old 214 -; epoll_wait_old 215 -; vserver 236 -
"""
"""Numbers that were given out and answer ENOSYS on these architectures today."""
