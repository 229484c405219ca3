//! The memory that a process may take: by default half of what is available.

use core::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

/// A limit, as the user writes it.
#[derive(Clone, Copy, Debug)]
pub enum MemoryLimit {
    /// Bytes.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl FromStr for MemoryLimit {
    type Err = String;

    fn from_str(text: &str) -> Result<MemoryLimit, String> {
        match text {
            "unlimited" => Ok(MemoryLimit::Unlimited),
            _ => spec::parse_size(text).map(MemoryLimit::Bytes).map_err(|why| why.to_string()),
        }
    }
}

impl fmt::Display for MemoryLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryLimit::Bytes(bytes) => out.write_str(&spec::print_size(*bytes)),
            MemoryLimit::Unlimited => out.write_str("unlimited"),
        }
    }
}

impl MemoryLimit {
    /// The limit in bytes, if there is one. By default it is half of the available memory; on a
    /// system that does not tell what is available there is none.
    pub fn bytes(given: Option<MemoryLimit>) -> Option<u64> {
        match given {
            Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
            Some(MemoryLimit::Unlimited) => None,
            None => available_bytes(Path::new("/")).map(|bytes| bytes / 2),
        }
    }
}

/// Memory that is still available, to the system or to the control groups of this process,
/// whichever is less. `root` is the root of the file system.
fn available_bytes(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).unwrap_or_default();
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let in_groups = groups.lines().filter_map(|line| {
        let [_, controllers, path] = line.splitn(3, ':').collect::<Vec<_>>()[..] else {
            return None;
        };
        match controllers {
            "" => available_in_groups(&root.join("sys/fs/cgroup"), path, &VERSION_2),
            _ if controllers.split(',').any(|one| one == "memory") => {
                available_in_groups(&root.join("sys/fs/cgroup/memory"), path, &VERSION_1)
            }
            _ => None,
        }
    });
    kib_in(&meminfo, "MemAvailable:").into_iter().chain(in_groups).min()
}

/// The files of a version of control groups.
struct GroupFiles {
    limit: &'static str,
    used: &'static str,
    /// The line of `memory.stat` about caches of files, which the system drops when it needs room.
    cache: &'static str,
}

const VERSION_1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    cache: "total_inactive_file ",
};

const VERSION_2: GroupFiles =
    GroupFiles { limit: "memory.max", used: "memory.current", cache: "inactive_file " };

/// The least memory that is left in any of a group and the groups around it; none if no group has a
/// limit.
fn available_in_groups(mount: &Path, path: &str, files: &GroupFiles) -> Option<u64> {
    let path = Path::new(path.trim_start_matches('/'));
    let available = |group: &Path| {
        let read = |name: &str| fs::read_to_string(mount.join(group).join(name)).ok();
        let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
        let (limit, used) = (number(files.limit)?, number(files.used)?);
        let stat = read("memory.stat").unwrap_or_default();
        let cache = stat.lines().find_map(|line| line.strip_prefix(files.cache)?.parse().ok());
        Some(limit.saturating_sub(used.saturating_sub(cache.unwrap_or(0))))
    };
    path.ancestors().filter_map(available).min()
}

/// The bytes in a line such as `VmRSS: 1234 kB`.
fn kib_in(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The memory of this process, without the files that it maps.
pub fn used_bytes() -> Option<u64> {
    kib_in(&fs::read_to_string("/proc/self/status").ok()?, "RssAnon:")
}

/// Allocations from this size on go back to the system as soon as they are freed.
const GIVEN_BACK_BYTES: i32 = 1 << 20;

/// From now on, large memory that is freed goes back to the system. Otherwise the GNU C library
/// keeps up to 64 MiB for each thread once something large was freed, and [`used_bytes`] counts it.
pub fn give_back_what_is_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "the C library has this function in C only")]
    // SAFETY: it sets a number of the allocator, under its lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The available memory of a system with these files.
    fn available(files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        available_bytes(root.path())
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:  9000 kB\nMemFree:  1 kB\nMemAvailable:    8000 kB\n");

    #[test]
    fn the_system_or_the_control_group_has_less() {
        assert_eq!(available(&[]), None);
        assert_eq!(available(&[MEMINFO]), Some(8000 << 10));
        let second = [
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("sys/fs/cgroup/a/b/memory.current", "4096\n"),
            ("sys/fs/cgroup/a/memory.max", "1048576\n"),
            ("sys/fs/cgroup/a/memory.current", "8192\n"),
            ("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 4096\n"),
        ];
        assert_eq!(available(&second), Some((1 << 20) - 4096));
        let first = [
            MEMINFO,
            ("proc/self/cgroup", "3:cpu,cpuacct:/x\n2:memory:/not/visible/here\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "65536\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "30000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 20000\n"),
        ];
        assert_eq!(available(&first), Some(65536 - 10000));
        let unlimited = [
            MEMINFO,
            ("proc/self/cgroup", "2:memory:/\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "30000\n"),
        ];
        assert_eq!(available(&unlimited), Some(8000 << 10));
    }

    #[test]
    fn a_limit_is_a_size_or_unlimited() {
        assert_eq!(MemoryLimit::bytes("3GiB".parse().ok()), Some(3 << 30));
        assert_eq!(MemoryLimit::bytes("unlimited".parse().ok()), None);
        assert!("much".parse::<MemoryLimit>().is_err());
    }
}
