//! A server in a thread of its own.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use nbd::device::live::Live;
use nbd::server::address::{Address, Listener};
use nbd::server::encryption::Encrypter;
use nbd::server::engine::{Limits, Server, Stopper};
use nbd::server::viewer::Viewer;

/// A server that runs.
pub struct Running {
    folder: tempfile::TempDir,
    stopper: Stopper,
    /// Watches its disks.
    pub viewer: Viewer,
    thread: JoinHandle<Vec<Live>>,
}

impl Running {
    /// Serves these devices.
    pub fn new(devices: impl FnOnce() -> Vec<Live> + Send + 'static, limits: Limits) -> Running {
        let folder = tempfile::tempdir().unwrap();
        let [socket, control] = ["s", "c"].map(|name| folder.path().join(name));
        let (started, start) = channel();
        let thread = std::thread::spawn(move || {
            let notice = Box::new(|_: &str| {});
            let mut server = Server::new(devices(), limits, Encrypter::default(), notice).unwrap();
            let (listener, _) = Listener::bind(&Address::Unix(socket)).unwrap();
            server.accept_from(listener).unwrap();
            server.take_commands(&control).unwrap();
            started.send((server.stopper(), server.viewer())).unwrap();
            server.run().0
        });
        let (stopper, viewer) = start.recv().unwrap();
        Running { folder, stopper, viewer, thread }
    }

    /// The socket for clients.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// The socket for commands.
    pub fn control(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    /// Stops the server, and looks at what is left.
    pub fn stop(self, look: impl FnOnce(&Path, Vec<Live>)) {
        self.stopper.stop();
        let devices = self.thread.join().unwrap();
        look(self.folder.path(), devices);
    }
}
