//! Settings that are a text in a configuration file and in JSON, in the same form as their flag.

/// Serializes types by their `Display`, and deserializes them by their `FromStr`, whose error is a message.
macro_rules! setting_as_text {
    ($($setting:ty),+) => {$(
        impl serde::Serialize for $setting {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $setting {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <String as serde::Deserialize>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

pub(crate) use setting_as_text;

/// Reads a number of a command line or an environment variable.
///
/// # Errors
/// What is expected, in plain English.
pub(crate) fn whole_number<T: TryFrom<u64>>(text: &str) -> Result<T, &'static str> {
    let number: u64 = text.parse().map_err(|_| "expected a whole number")?;
    T::try_from(number).map_err(|_| "the number is too large")
}
