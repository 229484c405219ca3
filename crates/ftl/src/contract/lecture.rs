//! The text that explains a scheme: the head of its source file.

/// The source file of a scheme. Its head explains the scheme to readers of the code and, through
/// `ftlab list ftls NAME`, to its users.
#[derive(Clone, Copy, Debug)]
pub struct Lecture {
    /// The path of the file as the compiler knew it.
    pub file: &'static str,
    /// The whole text of the file.
    source: &'static str,
}

impl Lecture {
    /// The lecture in a file with this text.
    pub const fn of(file: &'static str, source: &'static str) -> Lecture {
        Lecture { file, source }
    }

    /// The address of the file, wherever it was compiled.
    pub fn address(&self) -> String {
        let inside = self.file.find("src/scheme/").map_or(self.file, |at| &self.file[at..]);
        format!("{}/blob/main/crates/ftl/{inside}", env!("CARGO_PKG_REPOSITORY"))
    }

    /// The lines of the head, without the marks of comments.
    pub fn lines(&self) -> impl Iterator<Item = &'static str> {
        let comments = self.source.lines().map_while(|line| line.strip_prefix("//!"));
        comments.map(|line| line.strip_prefix(' ').unwrap_or(line))
    }

    /// The picture of the blocks and the map: the first block of text in the head.
    pub fn picture(&self) -> Vec<&'static str> {
        let block = self.lines().skip_while(|line| *line != "```text").skip(1);
        block.take_while(|line| *line != "```").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_ends_with_the_comments_at_the_start_of_the_file() {
        let source = "//! a: b.\n//!\n//! ```text\n//!  [0 1]\n//! ```\n//! c\n\n//! d\nuse e;\n";
        let lecture = Lecture::of("a.rs", source);
        let lines: Vec<_> = lecture.lines().collect();
        assert_eq!(lines, ["a: b.", "", "```text", " [0 1]", "```", "c"]);
        assert_eq!(lecture.picture(), [" [0 1]"]);
    }

    #[test]
    fn the_address_does_not_depend_on_where_the_file_was_compiled() {
        let of = |file| Lecture::of(file, "").address();
        assert_eq!(
            of("crates/ftl/src/scheme/a.rs"),
            of("/registry/ftlab-ftl-1.0.0/src/scheme/a.rs")
        );
        assert!(of("src/scheme/a.rs").ends_with("/blob/main/crates/ftl/src/scheme/a.rs"));
    }

    #[test]
    fn every_scheme_has_a_picture_that_fits_a_narrow_page() {
        for scheme in crate::SCHEMES {
            let picture = scheme.lecture.picture();
            assert!(picture.len() >= 2, "{} has no picture", scheme.name);
            let widest = picture.iter().map(|line| line.chars().count()).max();
            assert!(widest <= Some(96), "{}: {widest:?} columns", scheme.name);
            assert!(scheme.lecture.file.contains(scheme.name), "{}", scheme.lecture.file);
        }
    }
}
