//! Failures of images, with the name of the file and a remedy.

use std::path::Path;

use disk::Error;

use crate::failure::Failure;

/// A failure that concerns the image at `path`.
pub fn failed(path: &Path) -> impl Fn(Error) -> Failure {
    move |error| {
        let code = match &error {
            Error::Image(image::Error::Differs { .. } | image::Error::Impossible(_)) => 2,
            Error::Ftl(error) => sim::Error::from(error.clone()).exit_code(),
            _ => 1,
        };
        Failure::coded(code, format!("{}: {error}{}", path.display(), remedy(&error)))
    }
}

/// A failure of looking into the image at `path`. No other command can do more.
pub fn unsalvageable(path: &Path) -> impl Fn(Error) -> Failure {
    move |error| Failure::failed(format!("{}: {error}", path.display()))
}

/// What a user can do about an error that does not say it itself.
fn remedy(error: &Error) -> &'static str {
    use image::Error::{Damaged, Foreign, InUse, Length, OtherFormat};
    let Error::Image(error) = error else { return "" };
    match error {
        Foreign => "; `ftlab image create` makes one",
        InUse => "; wait until the other program has closed it",
        OtherFormat { .. } => "; use the version of ftlab that made it",
        Damaged(_) | Length { .. } => {
            "; `ftlab image check` lists all damages, and `ftlab image dump` extracts what can be \
             read"
        }
        _ => "",
    }
}
