//! Does a folder lie on a file system whose changes the operating system cannot report, because others make them?

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::regular;

/// Names under which Linux mounts what lives on another machine, or outside a virtual one. inotify works on all of them
/// and sees only what this machine changes.
const REMOTE: [&str; 22] = [
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "drvfs",
    "fuse.glusterfs",
    "fuse.grpcfuse",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "fuse.vmhgfs-fuse",
    "glusterfs",
    "lustre",
    "nfs",
    "nfs4",
    "prl_fs",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "vmhgfs",
];

/// The name of the remote file system on which a resolved path lies. Only Linux tells; elsewhere the native watcher
/// either sees remote changes (Windows) or fails by itself.
pub fn remote(path: &Path) -> Option<String> {
    let mounts = regular::read(Path::new("/proc/self/mountinfo"), regular::MAX_SYSTEM).ok()?;
    kind(&mounts, path).filter(|kind| REMOTE.contains(&kind.as_str()))
}

/// The kind of the file system that is mounted nearest above a path; of two at one place the later hides the former.
fn kind(mounts: &[u8], path: &Path) -> Option<String> {
    let mounts = mounts.split(|&byte| byte == b'\n').filter_map(|line| {
        let mut fields = line.split(|&byte| byte == b' ');
        let point = unescape(fields.nth(4)?);
        let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
        path.starts_with(&point).then(|| (point.components().count(), String::from_utf8_lossy(kind).into_owned()))
    });
    mounts.max_by_key(|(depth, _)| *depth).map(|(_, kind)| kind)
}

/// Blanks and backslashes stand as three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, after)) = rest.split_first() {
        let code = match after {
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] if first == b'\\' => {
                Some((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'))
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(first));
        rest = if code.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(os_string(bytes))
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn the_nearest_mount_decides() {
        let mounts = b"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            40 22 0:35 / /srv/my\\040code rw master:2 shared:3 - nfs4 host:/code rw\n\
            41 22 0:36 / /over rw - nfs host:/a rw\n42 22 0:37 / /over rw - tmpfs tmpfs rw\n\
            garbage\n43 22 0:38 / \\9\\04 rw -\n";
        let kind = |path: &str| kind(mounts, Path::new(path));
        assert_eq!(kind("/srv/my code/a").as_deref(), Some("nfs4"));
        assert_eq!(kind("/srv/my code too").as_deref(), Some("ext4"));
        assert_eq!(kind("/over").as_deref(), Some("tmpfs"));
        assert_eq!(kind("relative"), None);
        assert_eq!(remote(Path::new("/proc")), None);
    }
}
