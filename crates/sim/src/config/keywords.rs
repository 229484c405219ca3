//! Options that are one word of a few: the enum, the names that users write, and both directions.

/// Declares an enum whose values are words: [`FromStr`](core::str::FromStr), a `name`, and serde.
macro_rules! words {
    (
        $(#[$doc:meta])*
        $name:ident, $what:literal:
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The names that users write, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($word),+];

            /// All of them, in this order.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// The name that users write.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                out.write_str(self.name())
            }
        }

        impl core::str::FromStr for $name {
            type Err = spec::Error;

            fn from_str(text: &str) -> spec::Result<$name> {
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(spec::unknown($what, text, Self::NAMES)),
                }
            }
        }

        impl From<$name> for &'static str {
            fn from(value: $name) -> &'static str {
                value.name()
            }
        }

        impl TryFrom<String> for $name {
            type Error = spec::Error;

            fn try_from(text: String) -> spec::Result<$name> {
                text.parse()
            }
        }
    };
}

pub(crate) use words;
