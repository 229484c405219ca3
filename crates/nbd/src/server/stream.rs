//! A connected socket, which may be encrypted.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use mio::net::{TcpStream, UnixStream};
use mio::{Interest, Registry, Token};

#[cfg(feature = "tls")]
use crate::server::tls::Tls;

/// A connected socket that never blocks.
pub enum Socket {
    /// A Unix socket.
    Unix(UnixStream),
    /// A TCP connection.
    Tcp(TcpStream),
}

/// A connection.
pub struct Stream {
    socket: Arc<Socket>,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
}

impl Stream {
    /// A connection that is not encrypted, and whose events have this token.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(mut socket: Socket, registry: &Registry, token: Token) -> io::Result<Stream> {
        let both = Interest::READABLE | Interest::WRITABLE;
        match &mut socket {
            Socket::Unix(stream) => registry.register(stream, token, both)?,
            Socket::Tcp(stream) => {
                // Answers must not wait for others.
                stream.set_nodelay(true)?;
                registry.register(stream, token, both)?;
            }
        }
        Ok(Stream {
            socket: Arc::new(socket),
            #[cfg(feature = "tls")]
            tls: None,
        })
    }

    /// The socket, if bytes go through it as they are.
    pub fn plain(&self) -> Option<&Arc<Socket>> {
        #[cfg(feature = "tls")]
        return Some(&self.socket).filter(|_| self.tls.is_none());
        #[cfg(not(feature = "tls"))]
        Some(&self.socket)
    }

    /// Ends the connection at once, whoever still uses the socket.
    pub fn hang_up(&self) {
        // A connection that cannot be ended has ended.
        let _ = match &*self.socket {
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// From now on everything is encrypted.
    #[cfg(feature = "tls")]
    pub fn encrypt(&mut self, tls: Tls) {
        self.tls = Some(tls);
    }

    /// Tells the client that nothing more comes, if the protocol of encryption demands that.
    pub fn say_goodbye(&mut self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            tls.say_goodbye(&mut &*self.socket);
        }
    }

    /// Whether a read that does not fill its buffer has emptied the socket.
    pub fn is_emptied_by_short_reads(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_none();
        #[cfg(not(feature = "tls"))]
        true
    }

    /// Whether bytes that were written wait to be sent.
    pub fn has_unsent(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.as_ref().is_some_and(Tls::has_unsent);
        #[cfg(not(feature = "tls"))]
        false
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            return tls.read(&mut &*self.socket, bytes);
        }
        (&*self.socket).read(bytes)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            return tls.write(&mut &*self.socket, bytes);
        }
        (&*self.socket).write(bytes)
    }

    /// Sends what waits, as far as the socket takes it.
    fn flush(&mut self) -> io::Result<()> {
        #[cfg(feature = "tls")]
        if let Some(tls) = &mut self.tls {
            return tls.send(&mut &*self.socket);
        }
        Ok(())
    }
}

impl Read for &Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&mut { stream }).read(bytes),
            Socket::Tcp(stream) => (&mut { stream }).read(bytes),
        }
    }
}

impl Write for &Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Socket::Unix(stream) => (&mut { stream }).write(bytes),
            Socket::Tcp(stream) => (&mut { stream }).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(stream) => stream.as_fd(),
            Socket::Tcp(stream) => stream.as_fd(),
        }
    }
}
