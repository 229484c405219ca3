//! `ftlab licences`: the licences of everything that the command links, from its bill of materials.
//!
//! `tools/licences.py` makes the bill from Cargo.lock, and a test compares them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::failure::Result;
use crate::output;

/// A CycloneDX SBOM.
const BILL: &str = include_str!("bill.cdx.json");

/// Options of `ftlab licences`.
#[derive(clap::Args)]
pub struct Args {
    /// Print the bill of materials for programs, as CycloneDX JSON
    #[arg(long)]
    sbom: bool,
}

#[derive(Deserialize)]
struct Bill {
    components: Vec<Component>,
}

#[derive(Deserialize)]
struct Component {
    name: String,
    #[serde(default)]
    version: String,
    licenses: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    license: License,
}

#[derive(Deserialize)]
struct License {
    id: String,
    text: Text,
}

#[derive(Deserialize)]
struct Text {
    content: String,
}

/// Prints a table of the libraries, then each text of a licence below the libraries that it is for.
pub fn run(args: &Args) -> Result<()> {
    if args.sbom {
        return output::print(BILL);
    }
    let bill: Bill = serde_json::from_str(BILL).expect("a test reads the bill");
    let own = "ftlab itself has the MIT licence. It links these libraries of others:\n\n";
    output::print(&format!("{own}{}{}", table(&bill), texts(&bill)))
}

fn table(bill: &Bill) -> String {
    let width = bill.components.iter().map(|one| one.name.len()).max().unwrap_or_default();
    let line = |one: &Component| {
        let ids: Vec<&str> = one.licenses.iter().map(|named| named.license.id.as_str()).collect();
        let (name, version, ids) = (&one.name, &one.version, ids.join(" and "));
        format!("{name:width$}  {version:22}  {ids}\n")
    };
    bill.components.iter().map(line).collect()
}

fn texts(bill: &Bill) -> String {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for component in &bill.components {
        for Named { license } in &component.licenses {
            users.entry(license.text.content.trim_end()).or_default().push(&component.name);
        }
    }
    let section = |(text, names): (&str, Vec<&str>)| {
        let rule = "-".repeat(80);
        format!("\n{rule}\n{}\n\n{text}\n", names.join(", "))
    };
    users.into_iter().map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command prints the bill without asking whether it is whole.
    #[test]
    fn every_library_has_a_licence_with_its_text() {
        let bill: Bill = serde_json::from_str(BILL).expect("a bill");
        for component in &bill.components {
            assert!(!component.licenses.is_empty(), "{} has no licence", component.name);
            for Named { license } in &component.licenses {
                assert!(license.text.content.len() > 200, "{}: no text", component.name);
            }
        }
        let names: Vec<&str> = bill.components.iter().map(|one| one.name.as_str()).collect();
        for name in ["clap", "ring", "quickjs", "vega", "zstd", "pyo3", "std"] {
            assert!(names.contains(&name), "the bill lacks {name}");
        }
    }
}
