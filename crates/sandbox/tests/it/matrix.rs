//! The escape matrix: each row is a test. A row says what is tried, which answers refuse it, and what of
//! the same kind must still work. Each is tried in every way to be held, and once by a program that
//! nothing holds: an attack that cannot work proves nothing.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use libc::{
    EACCES, EBADF, EFBIG, EINVAL, ENOENT, ENOSYS, ENOTTY, ENXIO, EPERM, EROFS, ESRCH, EXDEV,
};

use crate::scene::{Hold, KILLED, Said, Scene, holds, is_refusal, is_root};
use concertina_sandbox::Tier;

/// Files that are not there for the program, or that it may not touch.
const FILE: &[i32] = &[EACCES, EPERM, ENOENT, EROFS];
const CALL: &[i32] = &[EPERM];
const PROCESS: &[i32] = &[EPERM, ESRCH, EACCES];

/// Who can do it when nothing holds them.
#[derive(Clone, Copy, PartialEq)]
enum Free {
    Anyone,
    Root,
    /// Not on every machine.
    Maybe,
}

/// At which tiers it is refused.
#[derive(Clone, Copy, PartialEq)]
enum From {
    L1,
    /// Where something may be written, which raises the tier.
    L2,
    /// Where nothing else can be seen.
    L3,
}

struct Row<'a> {
    test: &'static str,
    from: From,
    free: Free,
    tries: &'a [&'a str],
    refused: &'static [i32],
    /// What must work, confined.
    twin: &'a [&'a str],
}

/// Services of this machine that are not the program's to reach.
struct Services {
    tcp: TcpListener,
    udp: UdpSocket,
    _unix: UnixListener,
    _datagram: UnixDatagram,
    _abstract: UnixListener,
    name: String,
}

impl Services {
    fn new(scene: &Scene) -> Self {
        let name = format!("concertina-{}-{}", std::process::id(), scene.root.path().display());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            _unix: UnixListener::bind(scene.at("o/s")).unwrap(),
            _datagram: UnixDatagram::bind(scene.at("o/d")).unwrap(),
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            name,
        }
    }

    fn tcp(&self) -> String {
        self.tcp.local_addr().unwrap().port().to_string()
    }

    fn udp(&self) -> String {
        self.udp.local_addr().unwrap().port().to_string()
    }
}

fn holds_for(row: &Row<'_>) -> Vec<Hold> {
    let least = match row.from {
        From::L1 => Tier::L1,
        From::L2 => Tier::L2,
        From::L3 => Tier::L3,
    };
    holds(row.test).into_iter().filter(|hold| hold.tier >= least).collect()
}

fn check(row: &Row<'_>, scene: impl Fn() -> Scene) {
    for hold in holds_for(row) {
        let scene = scene();
        let services = Services::new(&scene);
        let tries = filled(row.tries, &scene, &services);
        let twin = filled(row.twin, &scene, &services);
        let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
        let twin: Vec<&str> = twin.iter().map(String::as_str).collect();

        let said = scene.tries(&hold, &tries);
        assert!(is_refusal(&said, row.refused), "{}: {}: {said:?}", row.test, hold.name);
        // Where no signal can be sent at all, its own children get none either.
        let has_no_signals = hold.name == "L1 without namespaces, with Landlock 3";
        if !(has_no_signals && twin == ["kill-child"]) {
            let said = scene.tries(&hold, &twin);
            assert_eq!(said, Said::Open, "{}: {}: twin {twin:?}", row.test, hold.name);
        }
    }
    let scene = scene();
    let services = Services::new(&scene);
    let tries = filled(row.tries, &scene, &services);
    let tries: Vec<&str> = tries.iter().map(String::as_str).collect();
    let is_free = match row.free {
        Free::Anyone => true,
        Free::Root => is_root(),
        Free::Maybe => false,
    };
    if is_free {
        assert_eq!(scene.tries_freely(&tries), Said::Open, "{}: not held", row.test);
    }
}

/// Puts in what only the scene knows.
fn filled(words: &[&str], scene: &Scene, services: &Services) -> Vec<String> {
    words
        .iter()
        .map(|word| match *word {
            "TCP" => services.tcp(),
            "UDP" => services.udp(),
            "ABSTRACT" => services.name.clone(),
            "ADDRESS" => (std::ptr::from_ref(&SECRET).addr()).to_string(),
            word => match word.strip_prefix('@') {
                Some(name) => scene.text(name),
                None => word.replace("PARENT", &std::process::id().to_string()),
            },
        })
        .collect()
}

static SECRET: u64 = 42;

macro_rules! rows {
    ($($test:ident: $from:ident $free:ident [$($word:literal),*] $refused:expr, [$($twin:literal),*];)*) => {
        $(
            #[test]
            fn $test() {
                let row = Row {
                    test: stringify!($test),
                    from: From::$from,
                    free: Free::$free,
                    tries: &[$($word),*],
                    refused: $refused,
                    twin: &[$($twin),*],
                };
                check(&row, Scene::new);
            }
        )*
    };
}

rows! {
    // Files. `@r` may be read, `@w` may be written (from L2 on), `@o` neither.
    escape_write_into_a_directory_that_may_be_read:
        L1 Anyone ["write", "@r/new"] FILE, ["read", "@r/ok"];
    escape_write_a_file_that_may_be_read:
        L2 Anyone ["write", "@r/ok"] FILE, ["write", "@w/new"];
    escape_read_the_shadow_file: L1 Root ["read", "/etc/shadow"] FILE, ["read", "@r/ok"];
    escape_read_a_file_outside: L1 Anyone ["read", "@o/secret"] FILE, ["read", "@r/ok"];
    escape_read_outside_by_dots: L1 Anyone ["read", "@r/../o/secret"] FILE, ["read", "@r/../r/ok"];
    escape_write_outside: L1 Anyone ["write", "@o/evil"] FILE, ["read", "@r/ok"];
    escape_write_outside_where_something_may_be_written:
        L2 Anyone ["write", "@o/evil"] FILE, ["write", "@w/good"];
    escape_read_through_a_link: L1 Anyone ["read", "@r/link"] FILE, ["read", "@r/ok"];
    escape_read_through_a_link_to_a_directory:
        L1 Anyone ["read", "@r/dlink/secret"] FILE, ["list", "@r"];
    advisory_26_escape_write_through_a_link: L2 Anyone ["write", "@w/wlink"] FILE, ["write", "@w/own"];
    escape_read_by_the_root_of_a_process:
        L1 Root ["read", "/proc/self/root/etc/shadow"] FILE, ["read", "@r/ok"];
    escape_list_outside: L1 Anyone ["list", "@o"] FILE, ["list", "@r"];
    escape_hard_link_from_outside:
        L2 Anyone ["link", "@o/secret", "@w/hl"] &[EXDEV, EACCES, EPERM, ENOENT],
        ["link", "@w/own", "@w/hl"];
    escape_rename_from_outside:
        L2 Anyone ["rename", "@o/ren", "@w/ren"] &[EXDEV, EACCES, EPERM, ENOENT, EROFS],
        ["rename", "@w/own", "@w/ren"];
    escape_truncate_outside: L1 Anyone ["truncate", "@o/trunc"] FILE, ["read", "@r/ok"];
    escape_truncate_what_may_be_read: L2 Anyone ["truncate", "@r/ok"] FILE, ["truncate", "@w/own"];
    escape_truncate_by_opening:
        L2 Anyone ["open-truncate", "@r/ok"] FILE, ["open-truncate", "@w/own"];
    escape_unlink_outside: L1 Anyone ["unlink", "@o/del"] FILE, ["read", "@r/ok"];
    escape_unlink_what_may_be_read: L2 Anyone ["unlink", "@r/ok"] FILE, ["unlink", "@w/own"];
    escape_make_a_directory_outside:
        L2 Anyone ["mkdir", "@o/evil"] FILE, ["mkdir", "@w/good"];
    escape_make_a_link_outside:
        L2 Anyone ["symlink", "@o/evil", "target"] FILE, ["symlink", "@w/good", "target"];
    escape_remove_the_directory_that_may_be_written:
        L2 Maybe ["rmdir", "@w"] &[libc::EBUSY, libc::ENOTEMPTY, EACCES, EROFS], ["unlink", "@w/own"];
    s37_escape_chmod_outside: L1 Anyone ["chmod", "@o/secret"] FILE, ["stat", "@r/ok"];
    s37_escape_chmod_what_may_be_read: L2 Anyone ["chmod", "@r/ok"] FILE, ["chmod", "@w/own"];
    s37_escape_chmod_by_descriptor: L2 Anyone ["fchmod", "@r/ok"] FILE, ["fchmod", "@w/own"];
    s37_escape_chmod_by_descriptor_with_nothing_to_write:
        L1 Anyone ["fchmod", "@r/ok"] FILE, ["read", "@r/ok"];
    s37_escape_chown_outside: L1 Anyone ["chown", "@o/secret"] FILE, ["stat", "@r/ok"];
    s37_escape_chown_what_may_be_read: L2 Anyone ["chown", "@r/ok"] FILE, ["chown", "@w/own"];
    s37_escape_utimes_outside: L1 Anyone ["utimes", "@o/secret"] FILE, ["stat", "@r/ok"];
    s37_escape_utimes_what_may_be_read: L2 Anyone ["utimes", "@r/ok"] FILE, ["utimes", "@w/own"];
    s37_escape_utimes_by_descriptor: L2 Anyone ["futimes", "@r/ok"] FILE, ["futimes", "@w/own"];
    s37_escape_setxattr_outside: L1 Maybe ["setxattr", "@o/secret"] FILE, ["stat", "@r/ok"];
    s37_escape_setxattr_what_may_be_read:
        L2 Maybe ["setxattr", "@r/ok"] FILE, ["utimes", "@w/own"];
    s37_escape_set_the_flags_of_a_file: L1 Maybe ["set-flags", "@r/ok"] FILE, ["read", "@r/ok"];
    escape_make_a_file_that_runs_as_its_owner:
        L2 Anyone ["chmod-set-id", "@w/own"] CALL, ["chmod", "@w/own"];
    escape_create_a_file_that_runs_as_its_owner:
        L2 Anyone ["create-set-id", "@w/evil"] CALL, ["create", "@w/good"];
    escape_see_that_a_file_is_there: L3 Anyone ["stat", "@o/secret"] &[ENOENT], ["stat", "@r/ok"];
    escape_open_a_path_outside: L3 Anyone ["opath", "@o/secret"] &[ENOENT], ["opath", "@r/ok"];
    escape_open_by_handle: L1 Root ["handle", "/etc/passwd"] CALL, ["read", "@r/ok"];
    escape_make_a_device: L2 Root ["mknod", "@w/device"] CALL, ["fifo", "@w/fifo"];
    s35_escape_fallocate_outside: L1 Anyone ["fallocate", "@o/victim"] FILE, ["read", "@r/ok"];
    s35_escape_fallocate_what_may_be_read:
        L2 Anyone ["fallocate", "@r/ok"] FILE, ["fallocate", "@w/own"];
    s35_escape_copy_file_range_outside:
        L2 Anyone ["copy-range", "@o/victim"] FILE, ["copy-range", "@w/own"];
    s35_escape_sendfile_outside: L2 Anyone ["sendfile", "@o/victim"] FILE, ["sendfile", "@w/own"];
    s35_escape_splice_outside: L2 Anyone ["splice", "@o/victim"] FILE, ["splice", "@w/own"];
    s35_escape_exchange_with_outside:
        L2 Anyone ["exchange", "@o/ren", "@w/own"] &[EXDEV, EACCES, EPERM, ENOENT, EROFS],
        ["exchange", "@w/other", "@w/own"];

    // Programs.
    escape_start_a_program_outside: L1 Anyone ["exec", "@o/tool"] FILE, ["exec", "@x/tool"];
    escape_start_a_program_that_may_only_be_read:
        L1 Anyone ["exec", "@r/tool"] FILE, ["exec", "@x/tool"];
    escape_copy_a_program_and_start_it:
        L2 Anyone ["copy-exec", "@r/tool", "@w/evil"] FILE, ["exec", "@x/tool"];
    escape_start_by_the_loader:
        L2 Anyone ["loader", "@r/tool", "@w/evil"] FILE, ["exec", "@x/tool"];
    escape_map_a_written_file_as_a_program: L2 Anyone ["map-exec", "@w/evil"] CALL, ["write", "@w/own"];
    escape_start_from_memory: L1 Anyone ["memory-exec", "@r/tool"] CALL, ["exec", "@x/tool"];

    // Processes.
    escape_read_by_the_root_of_the_parent:
        L1 Anyone ["read", "/proc/PARENT/root/etc/passwd"] FILE, ["read", "@r/ok"];
    s53_escape_read_the_environment_of_the_parent:
        L1 Anyone ["read", "/proc/PARENT/environ"] FILE, ["read", "@r/ok"];
    escape_open_the_memory_of_the_parent:
        L1 Anyone ["opened", "/proc/PARENT/mem"] FILE, ["opened", "@r/ok"];
    escape_read_by_the_directory_of_the_parent:
        L1 Anyone ["list", "/proc/PARENT/cwd/"] FILE, ["list", "."];
    escape_ptrace_the_parent: L1 Root ["ptrace", "PARENT"] PROCESS, ["kill-child"];
    escape_read_the_memory_of_the_parent:
        L1 Root ["vm-read", "PARENT", "ADDRESS"] PROCESS, ["kill-child"];
    escape_signal_the_parent: L1 Anyone ["kill", "PARENT", "0"] PROCESS, ["kill-child"];
    escape_signal_the_parent_for_real: L1 Anyone ["kill", "PARENT", "23"] PROCESS, ["kill-child"];
    escape_signal_by_descriptor: L1 Anyone ["pidfd-signal", "PARENT"] PROCESS, ["kill-child"];
    escape_take_a_descriptor_of_the_parent: L1 Root ["pidfd-getfd", "PARENT"] PROCESS, ["kill-child"];
    escape_limit_the_parent: L1 Anyone ["prlimit", "PARENT"] PROCESS, ["prlimit", "0"];
    escape_slow_the_parent: L1 Anyone ["setpriority", "PARENT"] PROCESS, ["setpriority", "0"];
    escape_slow_all_of_the_user: L1 Anyone ["setpriority-user"] PROCESS, ["setpriority", "0"];
    escape_move_the_parent: L1 Anyone ["affinity", "PARENT"] PROCESS, ["affinity", "0"];
    escape_see_other_processes: L1 Anyone ["processes"] &[EACCES, ENOENT], ["read", "@r/ok"];
    escape_gain_privileges: L1 Anyone ["no-new-privileges"] CALL, ["exec", "@x/tool"];
    escape_keep_capabilities: L1 Root ["capabilities"] CALL, ["exec", "@x/tool"];
    escape_become_another_user: L1 Root ["user", "1234"] &[EPERM, EINVAL], ["exec", "@x/tool"];

    // Networks.
    s40_escape_tcp: L1 Anyone ["tcp", "TCP"] CALL, ["unix-pair"];
    s40_escape_tcp_fast_open: L1 Maybe ["fast-open", "TCP"] CALL, ["unix-pair"];
    s40_escape_mptcp: L1 Maybe ["mptcp", "TCP"] CALL, ["unix-pair"];
    s40_escape_sctp: L1 Maybe ["sctp", "TCP"] CALL, ["unix-pair"];
    s40_escape_listen: L1 Anyone ["listen"] CALL, ["unix-pair"];
    s40_escape_udp: L1 Anyone ["udp", "UDP"] CALL, ["unix-pair"];
    s40_escape_icmp: L1 Root ["icmp"] CALL, ["unix-pair"];
    s40_escape_packet: L1 Root ["packet"] CALL, ["unix-pair"];
    s40_escape_netlink: L1 Anyone ["netlink"] CALL, ["unix-pair"];
    s40_escape_vsock: L1 Maybe ["vsock"] CALL, ["unix-pair"];
    s40_escape_alg: L1 Maybe ["alg"] CALL, ["unix-pair"];
    s40_escape_abstract_unix: L1 Anyone ["abstract", "ABSTRACT"] CALL, ["unix-pair"];
    s40_escape_unix: L1 Anyone ["unix", "@o/s"] CALL, ["unix-pair"];
    s40_escape_unix_by_a_pair: L1 Anyone ["unix-datagram", "@o/d"] CALL, ["unix-pair"];

    // The kernel.
    s55_escape_io_uring: L1 Maybe ["io-uring"] CALL, ["read", "@r/ok"];
    escape_keyctl: L1 Maybe ["keyctl"] CALL, ["read", "@r/ok"];
    escape_bpf: L1 Maybe ["bpf"] CALL, ["read", "@r/ok"];
    escape_perf: L1 Maybe ["perf"] CALL, ["read", "@r/ok"];
    escape_userfaultfd: L1 Maybe ["userfaultfd"] CALL, ["read", "@r/ok"];
    // CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWNS.
    s55_escape_unshare_users: L1 Maybe ["unshare", "268435456"] CALL, ["exec", "@x/tool"];
    s55_escape_unshare_network: L1 Root ["unshare", "1073741824"] CALL, ["exec", "@x/tool"];
    s55_escape_unshare_mounts: L1 Root ["unshare", "131072"] CALL, ["exec", "@x/tool"];
    s55_escape_setns: L1 Root ["setns", "/proc/self/ns/uts"] CALL, ["exec", "@x/tool"];
    s55_escape_clone_users: L1 Maybe ["clone-user"] CALL, ["exec", "@x/tool"];
    s55_escape_clone3: L1 Maybe ["clone3-user"] &[ENOSYS], ["exec", "@x/tool"];
    s55_escape_interface_of_32_bit_programs: L1 Maybe ["int80"] &[KILLED], ["read", "@r/ok"];
    s55_escape_interface_x32: L1 Maybe ["x32"] &[ENOSYS], ["read", "@r/ok"];
    s55_escape_call_that_is_not_known: L1 Maybe ["unknown-call"] &[ENOSYS], ["read", "@r/ok"];
    escape_mount: L1 Root ["mount", "/mnt"] CALL, ["read", "@r/ok"];
    escape_bind_over_what_may_be_read: L1 Root ["bind", "@o", "@r"] CALL, ["read", "@r/ok"];
    escape_remount_for_writing: L1 Maybe ["remount", "@r"] CALL, ["read", "@r/ok"];
    escape_unmount: L1 Maybe ["unmount", "@w"] CALL, ["read", "@r/ok"];
    escape_open_a_tree: L1 Root ["open-tree", "/"] CALL, ["read", "@r/ok"];
    escape_chroot: L1 Root ["chroot", "/"] CALL, ["read", "@r/ok"];
    s50_escape_put_input_into_a_terminal: L1 Maybe ["terminal-input"] CALL, ["read", "@r/ok"];
    s50_escape_open_the_terminal:
        L1 Maybe ["terminal"] &[ENXIO, EACCES, ENOENT, ENOTTY], ["read", "/dev/zero"];
    escape_personality: L1 Maybe ["personality"] CALL, ["read", "@r/ok"];
    escape_rename_the_machine: L1 Maybe ["host-name"] CALL, ["read", "@r/ok"];
    escape_set_the_clock: L1 Maybe ["clock"] CALL, ["read", "@r/ok"];
    escape_read_the_log_of_the_kernel: L1 Maybe ["log"] CALL, ["read", "@r/ok"];
    s53_escape_see_a_variable_of_the_parent: L1 Maybe ["variable", "PATH"] &[ENOENT], ["read", "@r/ok"];
    s49_escape_write_to_inherited_descriptors: L1 Maybe ["descriptors"] &[EBADF], ["read", "@r/ok"];
    s52_escape_write_a_file_that_is_too_large:
        L2 Maybe ["big", "@w/big", "2000000000"] &[EFBIG], ["big", "@w/big", "1000000"];
}

#[test]
fn escape_shared_memory() {
    let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o666) };
    assert_ne!(segment, -1);
    let number = segment.to_string();
    for hold in holds("escape_shared_memory") {
        let scene = Scene::new();
        let said = scene.tries(&hold, &["shared-memory", &number]);
        assert!(is_refusal(&said, CALL), "{}: {said:?}", hold.name);
    }
    assert_eq!(Scene::new().tries_freely(&["shared-memory", &number]), Said::Open);
    unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
}

#[test]
fn s49_escape_an_inherited_descriptor() {
    // Opened so that it is not closed when a program starts, as careless libraries do.
    let secret = std::fs::File::open("/etc/passwd").unwrap();
    let number =
        unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&secret), libc::F_DUPFD, 77) };
    assert!(number >= 77);
    let word = number.to_string();
    let scene = Scene::new();
    for hold in holds("s49_escape_an_inherited_descriptor") {
        let said = scene.tries(&hold, &["descriptor", &word]);
        assert!(is_refusal(&said, &[EBADF]), "{}: {said:?}", hold.name);
        assert_eq!(scene.tries(&hold, &["descriptor", "1"]), Said::Open);
    }
    assert_eq!(scene.tries_freely(&["descriptor", &word]), Said::Open);
    unsafe { libc::close(number) };
}

/// The directory for temporary files is the program's own, also where what is granted lies in it.
#[test]
fn escape_the_directory_for_temporary_files() {
    for hold in holds("escape_the_directory_for_temporary_files") {
        let scene = Scene::below(&std::env::temp_dir());
        let name = scene.root.path().file_name().unwrap().to_str().unwrap().to_owned();
        for outside in ["o/secret", "r/link", "r/../o/secret"] {
            let said = scene.tries(&hold, &["read", &scene.text(outside)]);
            assert!(is_refusal(&said, FILE), "{}: {outside}: {said:?}", hold.name);
        }
        assert_eq!(scene.tries(&hold, &["read", &scene.text("r/ok")]), Said::Open);
        let planted = std::env::temp_dir().join(format!("{name}.planted"));
        let planted = planted.to_str().unwrap();
        let said = scene.tries(&hold, &["write", planted]);
        assert!(!std::path::Path::new(planted).exists(), "{}", hold.name);
        if hold.tier > Tier::L1 {
            assert_eq!(said, Said::Open, "{}: its own may be written", hold.name);
            assert_eq!(scene.tries(&hold, &["write", &scene.text("w/new")]), Said::Open);
        } else {
            assert!(is_refusal(&said, FILE), "{}: {said:?}", hold.name);
        }
    }
}
