//! Values that are text in JSON.

/// Serializes values as they are printed.
macro_rules! text_in_json {
    ($($name:ident)*) => {
        $(
            impl serde::Serialize for $name {
                fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.collect_str(self)
                }
            }
        )*
    };
}

pub(crate) use text_in_json;
