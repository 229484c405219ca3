//! The names of devices in a written trace: those of the trace that is written, as far as the
//! format can express them.

use std::collections::HashSet;

use crate::writer::output_format::OutputFormat;

/// A note has at most this many examples.
const SHOWN_MAX: usize = 3;

/// The names that are written, and those that had to change.
#[derive(Debug)]
pub(super) struct DeviceNames {
    form: OutputFormat,
    /// By the number of the device.
    written: Vec<String>,
    taken: HashSet<String>,
    /// The name in the trace and the written one, where they differ.
    changed: Vec<(String, String)>,
}

impl DeviceNames {
    pub(super) fn new(form: OutputFormat) -> DeviceNames {
        DeviceNames { form, written: Vec::new(), taken: HashSet::new(), changed: Vec::new() }
    }

    /// The written name of a device; one that has no name is called by its number.
    pub(super) fn of(&mut self, device: u32) -> &str {
        while self.count() <= device as usize {
            self.add(&self.count().to_string());
        }
        &self.written[device as usize]
    }

    /// The number of devices that have a written name.
    pub(super) fn count(&self) -> usize {
        self.written.len()
    }

    /// The written names, by the number of the device.
    pub(super) fn written(&self) -> &[String] {
        &self.written
    }

    /// Gives the next device its name in the trace.
    pub(super) fn add(&mut self, name: &str) {
        let number = self.count();
        let mut written = expressed(self.form, name, number);
        while !self.taken.insert(written.clone()) {
            written = match self.form {
                OutputFormat::Blkparse => format!("254,{}", number + self.taken.len()),
                OutputFormat::Fio | OutputFormat::Csv => format!("{written}-{number}"),
            };
        }
        if written != name {
            self.changed.push((name.to_owned(), written.clone()));
        }
        self.written.push(written);
    }

    /// What is to be said if a trace of several devices has other names now.
    pub(super) fn note(&self) -> Option<String> {
        if self.count() < 2 || self.changed.is_empty() {
            return None;
        }
        let pair = |(name, written): &(String, String)| format!("`{name}` is `{written}`");
        let shown: Vec<String> = self.changed.iter().take(SHOWN_MAX).map(pair).collect();
        let more = if self.changed.len() > SHOWN_MAX { " …" } else { "" };
        Some(format!(
            "{} of {} volumes have another name in the written trace: {}{more}.",
            self.changed.len(),
            self.count(),
            shown.join(", ")
        ))
    }
}

/// A name as the format can express it. Names in an fio iolog are files, and a number alone is a
/// strange one; those in blkparse text are a major and a minor number.
fn expressed(form: OutputFormat, name: &str, number: usize) -> String {
    let replaced = |is_kept: fn(char) -> bool| -> String {
        let kept = name.chars().map(|letter| if is_kept(letter) { letter } else { '-' }).collect();
        if name.is_empty() { number.to_string() } else { kept }
    };
    match form {
        OutputFormat::Blkparse if is_pair(name) => name.to_owned(),
        OutputFormat::Blkparse => format!("254,{number}"),
        OutputFormat::Csv => {
            replaced(|letter| !letter.is_control() && !letter.is_whitespace() && letter != ',')
        }
        OutputFormat::Fio => {
            let file = replaced(|letter| !letter.is_control() && !letter.is_whitespace());
            let is_number = file.bytes().all(|letter| letter.is_ascii_digit());
            if is_number { format!("dev{file}") } else { file }
        }
    }
}

/// Whether a name is that of a block device in blkparse text, such as `8,16`.
fn is_pair(name: &str) -> bool {
    let is_number = |text: &str| text.len() < 10 && text.parse::<u32>().is_ok();
    name.split_once(',').is_some_and(|(major, minor)| is_number(major) && is_number(minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(form: OutputFormat, names: &[&str]) -> (Vec<String>, Option<String>) {
        let mut found = DeviceNames::new(form);
        names.iter().for_each(|name| found.add(name));
        (found.written().to_vec(), found.note())
    }

    #[test]
    fn names_are_kept_as_far_as_the_format_can_express_them() {
        let names = ["1058", "8,16", "hm 0", "/dev/sda"];
        let (csv, note) = written(OutputFormat::Csv, &names);
        assert_eq!(csv, ["1058", "8-16", "hm-0", "/dev/sda"]);
        let says = "2 of 4 volumes have another name in the written trace: `8,16` is `8-16`, \
                    `hm 0` is `hm-0`.";
        assert_eq!(note.unwrap(), says);
        let (fio, _) = written(OutputFormat::Fio, &names);
        assert_eq!(fio, ["dev1058", "8,16", "hm-0", "/dev/sda"]);
        let (blkparse, _) = written(OutputFormat::Blkparse, &names);
        assert_eq!(blkparse, ["254,0", "8,16", "254,2", "254,3"]);
        assert_eq!(written(OutputFormat::Csv, &["a", "b"]).1, None);
        assert_eq!(written(OutputFormat::Csv, &["8,16"]).1, None);
    }

    #[test]
    fn no_two_devices_get_one_name() {
        let drawn = ["a b", "a-b", "a,b", "254,3", "", "3", "254,1", "a-b-1", "254,0"];
        for form in [OutputFormat::Csv, OutputFormat::Fio, OutputFormat::Blkparse] {
            let (names, _) = written(form, &drawn);
            let distinct: HashSet<&String> = names.iter().collect();
            assert_eq!(distinct.len(), drawn.len(), "{names:?}");
        }
    }

    #[test]
    fn a_device_without_a_name_is_called_by_its_number() {
        let mut names = DeviceNames::new(OutputFormat::Fio);
        assert_eq!((names.of(1).to_owned(), names.of(0)), ("dev1".to_owned(), "dev0"));
        assert_eq!(names.note().unwrap().matches("is `dev").count(), 2);
    }
}
