//! Compresses the vendored scripts: they are a twentieth of the command, and most runs need none.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo names it");
    for name in ["vega", "vega-lite", "vega-embed"] {
        let path = format!("vega/{name}.min.js");
        println!("cargo::rerun-if-changed={path}");
        let script = std::fs::read(&path).expect("the script is vendored");
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&script).expect("memory takes everything");
        let packed = packed.finish().expect("memory takes everything");
        std::fs::write(Path::new(&out).join(name), packed).expect("the folder can be written");
    }
}
