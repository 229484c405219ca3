//! Places where clients find a server.

use std::fmt;
use std::io;
use std::net::{self, SocketAddr};
use std::os::unix::{self, fs::FileTypeExt};
use std::path::{Path, PathBuf};

use mio::net::{TcpListener, UnixListener};

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Unix(PathBuf),
    /// A TCP port.
    Tcp(SocketAddr),
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(out, "{}", path.display()),
            Address::Tcp(address) => write!(out, "{address}"),
        }
    }
}

impl Address {
    /// Whether clients on other machines can reach it.
    pub fn is_open_to_others(&self) -> bool {
        matches!(self, Address::Tcp(address) if !address.ip().is_loopback())
    }

    /// The address of an export here, as clients write it.
    pub fn uri(&self, export: &str, is_encrypted: bool) -> String {
        let (scheme, export) = (if is_encrypted { "nbds" } else { "nbd" }, escaped(export));
        match self {
            Address::Unix(path) => format!("{scheme}+unix:///{export}?socket={}", path.display()),
            Address::Tcp(address) => format!("{scheme}://{address}/{export}"),
        }
    }
}

/// A name as a part of a URI.
fn escaped(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let escape = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

/// A Unix socket at which a server listens. Its file is removed in the end, if the server made it.
pub struct UnixSocket {
    /// The listener.
    pub listener: UnixListener,
    made: Option<PathBuf>,
}

impl UnixSocket {
    /// Listens at a path. A socket that nobody listens at any more is replaced.
    ///
    /// # Errors
    /// Somebody listens there, something else than a socket is there, or the system refuses.
    pub fn bind(path: &Path) -> io::Result<UnixSocket> {
        if let Ok(found) = std::fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                let why = "a file that is not a socket is there already";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
            }
            match unix::net::UnixStream::connect(path) {
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    std::fs::remove_file(path)?;
                }
                Err(error) => return Err(error),
                Ok(_) => {
                    let why = "another server listens there";
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
                }
            }
        }
        Ok(UnixSocket { listener: UnixListener::bind(path)?, made: Some(path.to_owned()) })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let Some(path) = &self.made {
            // If the file is gone, somebody else has removed it.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Something to accept connections from.
pub enum Listener {
    /// A Unix socket.
    Unix(UnixSocket),
    /// A TCP port.
    Tcp(TcpListener),
}

impl Listener {
    /// Listens at an address. Returns also the address, with the port that the system chose.
    ///
    /// # Errors
    /// The system refuses, or the address is in use.
    pub fn bind(address: &Address) -> io::Result<(Listener, Address)> {
        match address {
            Address::Unix(path) => Ok((Listener::Unix(UnixSocket::bind(path)?), address.clone())),
            Address::Tcp(at) => {
                let listener = TcpListener::bind(*at)?;
                let at = listener.local_addr()?;
                Ok((Listener::Tcp(listener), Address::Tcp(at)))
            }
        }
    }

    /// A Unix socket that another program has opened, and its address.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of_unix(socket: unix::net::UnixListener) -> io::Result<(Listener, Address)> {
        socket.set_nonblocking(true)?;
        let path = socket.local_addr()?.as_pathname().map(Path::to_owned).unwrap_or_default();
        let listener = UnixListener::from_std(socket);
        Ok((Listener::Unix(UnixSocket { listener, made: None }), Address::Unix(path)))
    }

    /// A TCP port that another program has opened, and its address.
    ///
    /// # Errors
    /// The system refuses.
    pub fn of_tcp(port: net::TcpListener) -> io::Result<(Listener, Address)> {
        port.set_nonblocking(true)?;
        let at = port.local_addr()?;
        Ok((Listener::Tcp(TcpListener::from_std(port)), Address::Tcp(at)))
    }
}
