//! Addresses as they may be shown: without what may be a secret in them.

/// What may follow an address in a sentence and is no part of it.
const AFTER: [char; 8] = [')', ']', '>', '"', '\'', ':', ',', '.'];

/// Returns a text whose addresses have lost their user, password, query and fragment: keys stand
/// there often, and messages are read by models.
pub fn without_secrets(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, address) = rest.split_at(at + 3);
        let end = address.find(char::is_whitespace).unwrap_or(address.len());
        shown.push_str(before);
        shown.push_str(&bare(&address[..end]));
        rest = &address[end..];
    }
    shown.push_str(rest);
    shown
}

/// Strips what stands behind `://`.
fn bare(address: &str) -> String {
    let address_only = address.trim_end_matches(AFTER);
    let after = &address[address_only.len()..];
    let authority = address_only.find(['/', '?', '#']).unwrap_or(address_only.len());
    let (authority, path) = address_only.split_at(authority);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    format!("{host}{path}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_may_be_a_secret_and_nothing_else() {
        for (text, shown) in [
            ("https://h.example:1/mcp", "https://h.example:1/mcp"),
            ("https://h.example/mcp?apiKey=s3cret", "https://h.example/mcp"),
            ("https://h.example?s3cret", "https://h.example"),
            ("https://me:s3cret@h.example/a#s3cret", "https://h.example/a"),
            ("https://h.example/a@b", "https://h.example/a@b"),
            (
                "no (https://h/?k=s3)cret): at http://u@h/p?s3cret, twice",
                "no (https://h/): at http://h/p, twice",
            ),
            ("no address: ?k=v", "no address: ?k=v"),
            ("", ""),
        ] {
            assert_eq!(without_secrets(text), shown);
        }
    }
}
