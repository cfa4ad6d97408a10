//! The table of refused calls, by what they are good for.

use libc::c_long;

use super::{Profile, Rule, Test, Verdict};

const DENIED: Verdict = Verdict::Refuse(libc::EPERM);
/// As if the kernel were older: programs then use the calls that there were before.
const ABSENT: Verdict = Verdict::Refuse(libc::ENOSYS);

/// Calls that `libc` has no name for on every system. The numbers are the same everywhere.
mod number {
    use libc::c_long;

    pub(super) const QUOTACTL_FD: c_long = 443;
    pub(super) const FCHMODAT2: c_long = 452;
    pub(super) const STATMOUNT: c_long = 457;
    pub(super) const LISTMOUNT: c_long = 458;
    pub(super) const LSM_SET_SELF_ATTR: c_long = 460;
    pub(super) const SETXATTRAT: c_long = 463;
    pub(super) const REMOVEXATTRAT: c_long = 466;
    pub(super) const OPEN_TREE_ATTR: c_long = 467;
    pub(super) const FILE_SETATTR: c_long = 469;
}

const ALWAYS: &[Test] = &[];

/// A process other than the caller: 0 means the caller.
const OTHER: &[Test] = &[Test::NotIn { argument: 0, mask: u32::MAX, values: &[0] }];

/// The bits that let a file run as its owner or group. As root they would open a door for every
/// other user of the machine.
const SET_ID: u32 = 0o6000;
const SET_ID_VALUES: &[u32] = &[0o2000, 0o4000, 0o6000];

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

const fn rule(calls: &'static [c_long], tests: &'static [Test], verdict: Verdict) -> Rule {
    Rule { calls, tests, verdict }
}

/// For every program.
const COMMON: &[Rule] = &[
    // Mounts and roots.
    rule(
        &[
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_fsconfig,
            libc::SYS_fsmount,
            libc::SYS_fspick,
            libc::SYS_mount_setattr,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_quotactl,
            number::QUOTACTL_FD,
            number::OPEN_TREE_ATTR,
            number::STATMOUNT,
            number::LISTMOUNT,
        ],
        ALWAYS,
        DENIED,
    ),
    // Namespaces. What `clone3` asks for stands in memory, where a filter cannot look.
    rule(&[libc::SYS_unshare, libc::SYS_setns], ALWAYS, DENIED),
    rule(
        &[libc::SYS_clone],
        &[Test::NotIn { argument: 0, mask: NEW_NAMESPACES, values: &[0] }],
        DENIED,
    ),
    rule(&[libc::SYS_clone3], ALWAYS, ABSENT),
    // Files by handle, by way of memory, or with modes that a filter cannot see.
    rule(
        &[
            libc::SYS_open_by_handle_at,
            libc::SYS_name_to_handle_at,
            libc::SYS_memfd_create,
            libc::SYS_memfd_secret,
            libc::SYS_execveat,
        ],
        ALWAYS,
        DENIED,
    ),
    rule(&[libc::SYS_openat2], ALWAYS, ABSENT),
    // Ways around every other rule, and into the kernel.
    rule(
        &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register],
        ALWAYS,
        DENIED,
    ),
    rule(
        &[
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
            libc::SYS_reboot,
            libc::SYS_syslog,
            libc::SYS_acct,
            libc::SYS_vhangup,
            libc::SYS_fanotify_init,
            libc::SYS_fanotify_mark,
            libc::SYS_lookup_dcookie,
            number::LSM_SET_SELF_ATTR,
        ],
        ALWAYS,
        DENIED,
    ),
    #[cfg(target_arch = "x86_64")]
    rule(
        &[
            libc::SYS_iopl,
            libc::SYS_ioperm,
            libc::SYS_modify_ldt,
            libc::SYS_uselib,
            libc::SYS__sysctl,
            libc::SYS_nfsservctl,
        ],
        ALWAYS,
        DENIED,
    ),
    // Mappings that can be executed although nobody asked for it.
    rule(
        &[libc::SYS_personality],
        &[Test::NotIn {
            argument: 0,
            mask: u32::MAX,
            // Linux as it is; the same without random addresses; the question which it is.
            values: &[0, libc::ADDR_NO_RANDOMIZE as u32, u32::MAX],
        }],
        DENIED,
    ),
    // The machine's name and time.
    rule(
        &[
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_settimeofday,
            libc::SYS_clock_settime,
            libc::SYS_clock_adjtime,
            libc::SYS_adjtimex,
        ],
        ALWAYS,
        DENIED,
    ),
    // Keys and memory that processes share beyond files.
    rule(
        &[
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_shmget,
            libc::SYS_shmat,
            libc::SYS_shmctl,
            libc::SYS_shmdt,
            libc::SYS_semget,
            libc::SYS_semop,
            libc::SYS_semtimedop,
            libc::SYS_semctl,
            libc::SYS_msgget,
            libc::SYS_msgsnd,
            libc::SYS_msgrcv,
            libc::SYS_msgctl,
            libc::SYS_mq_open,
            libc::SYS_mq_unlink,
            libc::SYS_mq_timedsend,
            libc::SYS_mq_timedreceive,
            libc::SYS_mq_notify,
            libc::SYS_mq_getsetattr,
        ],
        ALWAYS,
        DENIED,
    ),
    // Other processes.
    rule(
        &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_process_mrelease,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
        ],
        ALWAYS,
        DENIED,
    ),
    rule(
        &[
            libc::SYS_prlimit64,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setaffinity,
            libc::SYS_migrate_pages,
            libc::SYS_move_pages,
            libc::SYS_get_robust_list,
        ],
        OTHER,
        DENIED,
    ),
    rule(
        &[libc::SYS_setpriority],
        &[
            // Those of a whole user.
            Test::In { argument: 0, mask: u32::MAX, values: &[libc::PRIO_USER] },
            Test::NotIn { argument: 1, mask: u32::MAX, values: &[0] },
        ],
        DENIED,
    ),
    rule(
        &[libc::SYS_ioprio_set],
        &[
            // IOPRIO_WHO_USER.
            Test::In { argument: 0, mask: u32::MAX, values: &[3] },
            Test::NotIn { argument: 1, mask: u32::MAX, values: &[0] },
        ],
        DENIED,
    ),
    // Input put into a terminal (TIOCSTI, TIOCLINUX, TIOCSETD, TIOCCONS), and flags of a file that can
    // be set by whoever reads it (FS_IOC_SETFLAGS in two widths, FS_IOC_FSSETXATTR).
    rule(
        &[libc::SYS_ioctl],
        &[Test::In {
            argument: 1,
            mask: u32::MAX,
            values: &[0x5412, 0x541c, 0x5423, 0x541d, 0x4008_6602, 0x4004_6602, 0x401c_5820],
        }],
        DENIED,
    ),
    rule(&[number::FILE_SETATTR], ALWAYS, DENIED),
    // Files that run as their owner, and devices.
    rule(
        &[libc::SYS_fchmod],
        &[Test::In { argument: 1, mask: SET_ID, values: SET_ID_VALUES }],
        DENIED,
    ),
    rule(
        &[libc::SYS_fchmodat, number::FCHMODAT2, libc::SYS_mknodat],
        &[Test::In { argument: 2, mask: SET_ID, values: SET_ID_VALUES }],
        DENIED,
    ),
    rule(
        &[libc::SYS_openat],
        &[Test::In { argument: 3, mask: SET_ID, values: SET_ID_VALUES }],
        DENIED,
    ),
    rule(
        &[libc::SYS_mknodat],
        &[Test::In { argument: 2, mask: libc::S_IFMT, values: &[libc::S_IFCHR, libc::S_IFBLK] }],
        DENIED,
    ),
    #[cfg(target_arch = "x86_64")]
    rule(
        &[libc::SYS_chmod, libc::SYS_creat, libc::SYS_mknod],
        &[Test::In { argument: 1, mask: SET_ID, values: SET_ID_VALUES }],
        DENIED,
    ),
    #[cfg(target_arch = "x86_64")]
    rule(
        &[libc::SYS_open],
        &[Test::In { argument: 2, mask: SET_ID, values: SET_ID_VALUES }],
        DENIED,
    ),
    #[cfg(target_arch = "x86_64")]
    rule(
        &[libc::SYS_mknod],
        &[Test::In { argument: 1, mask: libc::S_IFMT, values: &[libc::S_IFCHR, libc::S_IFBLK] }],
        DENIED,
    ),
    // A pair of sockets is a pipe that goes both ways. One for datagrams could be pointed at other
    // sockets, by name.
    rule(
        &[libc::SYS_socketpair],
        &[
            Test::NotIn { argument: 0, mask: u32::MAX, values: &[libc::AF_UNIX as u32] },
            Test::NotIn {
                argument: 1,
                mask: SOCKET_KIND,
                values: &[libc::SOCK_STREAM as u32, libc::SOCK_SEQPACKET as u32],
            },
        ],
        DENIED,
    ),
];

/// The part of a socket's type that is not a flag.
const SOCKET_KIND: u32 = 0xf;

/// Without a network: no sockets, and nothing that could use one that came from somewhere.
const NO_NETWORK: &[Rule] = &[
    rule(
        &[
            libc::SYS_socket,
            libc::SYS_connect,
            libc::SYS_bind,
            libc::SYS_listen,
            libc::SYS_accept,
            libc::SYS_accept4,
        ],
        ALWAYS,
        DENIED,
    ),
    rule(&[libc::SYS_sendto], &[Test::NotNull { argument: 4 }], DENIED),
];

/// With a gate: connections, and nothing else. Where they lead is for the gate.
const GATE: &[Rule] = &[rule(
    &[libc::SYS_socket],
    &[
        Test::NotIn {
            argument: 0,
            mask: u32::MAX,
            values: &[libc::AF_INET as u32, libc::AF_INET6 as u32],
        },
        Test::NotIn { argument: 1, mask: SOCKET_KIND, values: &[libc::SOCK_STREAM as u32] },
        Test::NotIn { argument: 2, mask: u32::MAX, values: &[0, libc::IPPROTO_TCP as u32] },
    ],
    DENIED,
)];

/// Where files that may not be written are not mounted read-only: what changes a file without being
/// writing, which Landlock does not hold. Whoever may write nothing has no use for it.
const METADATA: &[Rule] = &[
    rule(
        &[
            libc::SYS_fchmod,
            libc::SYS_fchmodat,
            number::FCHMODAT2,
            libc::SYS_fchown,
            libc::SYS_fchownat,
            libc::SYS_utimensat,
            libc::SYS_setxattr,
            libc::SYS_lsetxattr,
            libc::SYS_fsetxattr,
            number::SETXATTRAT,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
            number::REMOVEXATTRAT,
        ],
        ALWAYS,
        DENIED,
    ),
    #[cfg(target_arch = "x86_64")]
    rule(
        &[
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ],
        ALWAYS,
        DENIED,
    ),
];

/// Where nothing else keeps signals inside.
const NO_SIGNALS: &[Rule] = &[rule(
    &[
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        libc::SYS_pidfd_send_signal,
    ],
    ALWAYS,
    DENIED,
)];

/// The rules for a program of this profile.
pub(in crate::linux) fn table(profile: Profile) -> Vec<Rule> {
    let mut rules = Vec::new();
    // What is refused always comes before what is refused under a condition.
    if !profile.is_mounted {
        rules.extend_from_slice(METADATA);
    }
    if !profile.may_signal {
        rules.extend_from_slice(NO_SIGNALS);
    }
    rules.extend_from_slice(if profile.is_networked { GATE } else { NO_NETWORK });
    rules.extend_from_slice(COMMON);
    rules
}
