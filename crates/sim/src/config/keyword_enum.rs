//! Enums with a keyword for each value.

/// Declares an enum with a keyword for each value. It has `NAMES`, `ALL` and `name`, and it is read
/// from its keywords, printed and serialized as them. Error messages call it by the literal after
/// its name.
macro_rules! keyword_enum {
    (
        $(#[$doc:meta])*
        $name:ident, $what:literal:
        $($(#[$variant_doc:meta])* $variant:ident = $keyword:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The names that users write, in the order of the variants.
            pub const NAMES: &'static [&'static str] = &[$($keyword),+];

            /// All values, in the same order.
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
                    $($keyword => Ok($name::$variant),)+
                    _ => Err(spec::unknown($what, text, Self::NAMES)),
                }
            }
        }

        $crate::config::text_in_json::text_in_json!($name);

        impl $crate::config::option_text::OptionValue for $name {
            const KEYWORDS: &'static [&'static str] = Self::NAMES;
        }
    };
}

pub(crate) use keyword_enum;
