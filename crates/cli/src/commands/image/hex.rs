//! Bytes for people.

/// Bytes of a line.
const LINE: usize = 16;

/// Lines of offset, bytes and letters. Equal lines after the first are one line with a star.
pub fn dump(bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut before: Option<&[u8]> = None;
    let mut is_starred = false;
    for (index, part) in bytes.chunks(LINE).enumerate() {
        let is_last = (index + 1) * LINE >= bytes.len();
        if before == Some(part) && !is_last {
            if !is_starred {
                text.push_str("*\n");
            }
            is_starred = true;
            continue;
        }
        is_starred = false;
        before = Some(part);
        let hex: Vec<String> = part.iter().map(|byte| format!("{byte:02x}")).collect();
        text += &format!("{:06x}  {:<47}  {}\n", index * LINE, hex.join(" "), letters(part));
    }
    text
}

fn letters(bytes: &[u8]) -> String {
    let letter = |byte: &u8| if byte.is_ascii_graphic() { *byte as char } else { '.' };
    bytes.iter().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_lines_are_left_out() {
        let mut bytes = vec![0; 80];
        bytes[66] = b'x';
        let zeroes = "00 ".repeat(16);
        let expected = format!(
            "000000  {}  ................\n*\n000040  00 00 78 {}  ..x.............\n",
            zeroes.trim_end(),
            zeroes[..39].trim_end(),
        );
        assert_eq!(dump(&bytes), expected);
    }
}
