//! Whether and how connections are encrypted.

use crate::server::peer::Peer;
#[cfg(feature = "tls")]
use crate::server::tls::{Certificates, Tls};
use crate::session::Encryption;

/// The encryption of all connections of a server.
#[derive(Clone, Default)]
pub struct Encrypter {
    #[cfg(feature = "tls")]
    certificates: Option<Certificates>,
}

impl Encrypter {
    /// Every connection must be encrypted.
    #[cfg(feature = "tls")]
    pub fn required(certificates: Certificates) -> Encrypter {
        Encrypter { certificates: Some(certificates) }
    }

    /// What new connections are told.
    pub fn policy(&self) -> Encryption {
        #[cfg(feature = "tls")]
        if self.certificates.is_some() {
            return Encryption::Required;
        }
        Encryption::Impossible
    }

    /// Encrypts a connection whose client asked for it. Returns whether that was possible.
    #[cfg(feature = "tls")]
    pub fn encrypt(&self, peer: &mut Peer) -> bool {
        // The answer to the client is a few bytes. A socket that does not take them is closed.
        let Some(certificates) = &self.certificates else { return false };
        let Ok(tls) = Tls::begin(certificates) else { return false };
        if !peer.send() || !peer.has_sent_all() {
            return false;
        }
        peer.stream.encrypt(tls);
        peer.session.encrypted();
        true
    }

    /// No client can ask for encryption.
    #[cfg(not(feature = "tls"))]
    pub fn encrypt(&self, _peer: &mut Peer) -> bool {
        false
    }
}
