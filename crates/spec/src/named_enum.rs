//! Enums whose values users name.

/// Declares an enum whose values users name. It is printed as these names and read from them;
/// `NAMES` has them, `ALL` the values. Messages about an unknown name call it by the text that
/// follows its own name.
///
/// ```
/// spec::named_enum! {
///     /// The order of two pages.
///     pub enum PageOrder: "page order" {
///         /// The lower page first.
///         Rising = "rising",
///         /// The higher page first.
///         Falling = "falling",
///     }
/// }
/// assert_eq!("rising".parse(), Ok(PageOrder::Rising));
/// let message = "faling".parse::<PageOrder>().unwrap_err().to_string();
/// assert!(message.contains("unknown page order `faling`; did you mean `falling`"), "{message}");
/// ```
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        pub enum $enum:ident: $what:literal {
            $($(#[$value_meta:meta])* $value:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($(#[$value_meta])* $value,)+
        }

        impl $enum {
            /// The names that users write, in the order of the values.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// All values.
            pub const ALL: [$enum; $enum::NAMES.len()] = [$($enum::$value),+];

            /// The name that users write.
            pub fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }

        impl core::fmt::Display for $enum {
            fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                out.write_str(self.name())
            }
        }

        impl core::str::FromStr for $enum {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<$enum> {
                match text {
                    $($name => Ok($enum::$value),)+
                    _ => Err($crate::unknown($what, text, Self::NAMES)),
                }
            }
        }
    };
}
