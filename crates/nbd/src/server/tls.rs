//! Encryption of connections, by rustls.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{Error, RootCertStore, ServerConfig, ServerConnection};

/// The keys that the library can sign with.
const KEYS: &str = "a key must be RSA of 2048, 3072 or 4096 bits, ECDSA on P-256 or P-384, or \
                    Ed25519";

/// What a server needs to encrypt connections.
#[derive(Clone)]
pub struct Certificates(Arc<ServerConfig>);

impl Certificates {
    /// The certificates in a folder, with the names that nbdkit and libnbd use:
    /// `server-cert.pem`, `server-key.pem` and, if clients must have a certificate, `ca-cert.pem`.
    ///
    /// # Errors
    /// A file cannot be read, or holds something else. The error names it.
    pub fn in_folder(folder: &Path, verifies_clients: bool) -> Result<Certificates, String> {
        let [certificate, key] = ["server-cert.pem", "server-key.pem"].map(|it| folder.join(it));
        let chain = certificates(&certificate)?;
        let secret = PrivateKeyDer::from_pem_file(&key).map_err(|error| match error {
            pem::Error::NoItemsFound => holds_no(&key, "private key without a password"),
            error => format!("{}: {error}", key.display()),
        })?;
        let config = ServerConfig::builder();
        let config = if verifies_clients {
            config.with_client_cert_verifier(verifier(&folder.join("ca-cert.pem"))?)
        } else {
            config.with_no_client_auth()
        };
        let config = config.with_single_cert(chain, secret).map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                format!("{}: not the key of {}", key.display(), certificate.display())
            }
            Error::InvalidCertificate(_) => format!("{}: {error}", certificate.display()),
            error => format!("{}: {error}; {KEYS}", key.display()),
        })?;
        Ok(Certificates(Arc::new(config)))
    }
}

/// Demands of clients a certificate that one of those in a file has signed.
fn verifier(path: &Path) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(path)? {
        roots.add(root).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let verifier = WebPkiClientVerifier::builder(Arc::new(roots)).build();
    verifier.map_err(|error| format!("{}: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let all = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = all.map_err(|error| format!("{}: {error}", path.display()))?;
    if all.is_empty() { Err(holds_no(path, "certificate")) } else { Ok(all) }
}

fn holds_no(path: &Path, what: &str) -> String {
    format!("{}: there is no {what} in the form PEM", path.display())
}

/// The encryption of one connection.
pub struct Tls(Box<ServerConnection>);

impl Tls {
    /// Begins to encrypt a connection.
    ///
    /// # Errors
    /// The library refuses.
    pub fn begin(certificates: &Certificates) -> io::Result<Tls> {
        let connection = ServerConnection::new(Arc::clone(&certificates.0));
        Ok(Tls(Box::new(connection.map_err(io::Error::other)?)))
    }

    /// Reads from a socket, and decrypts.
    ///
    /// # Errors
    /// Those of the socket; or the client breaks the protocol.
    pub fn read(
        &mut self,
        socket: &mut (impl Read + Write),
        bytes: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            match self.0.reader().read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // A client that ends without a goodbye has hung up, too.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                other => return other,
            }
            if self.0.read_tls(socket)? == 0 {
                return Ok(0);
            }
            let taken = self.0.process_new_packets();
            // What the library has to say, also about an error, must be sent.
            self.send(socket)?;
            taken.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
    }

    /// Encrypts, and writes to a socket as far as it takes bytes.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn write(&mut self, socket: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.send(socket)?;
        if self.0.wants_write() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let taken = self.0.writer().write(bytes)?;
        // The bytes are taken. An error of the socket comes again with the next one.
        let _ = self.send(socket);
        Ok(taken)
    }

    /// Tells the client that nothing more comes. If the socket takes no more, the client sees that
    /// the connection ends.
    pub fn say_goodbye(&mut self, socket: &mut impl Write) {
        self.0.send_close_notify();
        let _ = self.send(socket);
    }

    /// Sends what is encrypted already, as far as the socket takes it.
    ///
    /// # Errors
    /// Those of the socket.
    pub fn send(&mut self, socket: &mut impl Write) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether encrypted bytes wait to be sent.
    pub fn has_unsent(&self) -> bool {
        self.0.wants_write()
    }
}
