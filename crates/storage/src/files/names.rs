//! Names of files: what each thing is called, and how a name becomes safe for every file system.
//!
//! Only lower-case letters, digits, `-`, `_` and `.` stand for themselves; all else is escaped byte by
//! byte, so that no name leaves its folder, and none differs from another only by case. What would
//! become too long ends in a checksum. The true name stands in the file.

use contexture_core::{
    PageIndex, Revision, SegmentId, SessionId,
    storage::{Checksum, ChunkKey, ContentHash, LedgerKey, RunKey, ViewId},
};

/// The folder of all sessions.
pub(crate) const SESSIONS: &str = "sessions";
/// Where files are written before they are put in place.
pub(crate) const TMP: &str = ".local/tmp";
/// Where sessions are taken over.
pub(crate) const IMPORTS: &str = ".local/imports";
/// Where files lie that could not be read.
pub(crate) const QUARANTINE: &str = ".local/quarantine";
/// A session's head.
pub(crate) const HEAD: &str = "session.json";

/// How long the name of a file may be before its ending.
const LONGEST: usize = 200;

/// Returns a session's folder.
pub(crate) fn session(id: &SessionId) -> String {
    format!("{SESSIONS}/{}", encode(id.as_str()))
}

/// Makes a name safe for every file system.
pub(crate) fn encode(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    let reserved = is_reserved(name);
    for (at, byte) in name.bytes().enumerate() {
        let last = at + 1 == name.len();
        match byte {
            b'.' if at == 0 || last => escape(&mut safe, byte),
            _ if at == 0 && reserved => escape(&mut safe, byte),
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => safe.push(char::from(byte)),
            _ => escape(&mut safe, byte),
        }
    }
    if safe.len() > LONGEST {
        // It is all ASCII, so it can be cut anywhere.
        safe.truncate(LONGEST - 33);
        safe.push_str(&format!("~{}", Checksum::of(name.as_bytes())));
    }
    safe
}

fn escape(safe: &mut String, byte: u8) {
    safe.push_str(&format!("%{byte:02x}"));
}

/// Returns the name that was made safe; none where it was shortened.
pub(crate) fn decode(safe: &str) -> Option<String> {
    let (mut name, mut rest) = (Vec::new(), safe.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'~' => return None,
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                name.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            byte => name.push(byte),
        }
    }
    String::from_utf8(name).ok().filter(|name| encode(name) == safe)
}

/// Tells whether Windows would take it for a device.
fn is_reserved(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| matches!(rest.as_bytes(), [b'1'..=b'9']))
    };
    matches!(stem.as_str(), "con" | "prn" | "aux" | "nul") || numbered("com") || numbered("lpt")
}

/// Tells whether a path could be one of ours: it stays in the folder and out of what is hidden.
pub(crate) fn is_safe(path: &str) -> bool {
    let part = |part: &str| {
        let allowed = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.%~".contains(&byte)
        };
        !part.is_empty() && !part.starts_with('.') && part.bytes().all(allowed)
    };
    path.split('/').all(part)
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Head,
    Segment,
    Page,
    Entry,
    Content,
    View,
    Chunk,
    Custom,
    Run,
    Sent,
}

impl Kind {
    /// Tells by its path, from the session's folder on, what a file holds.
    pub(crate) fn of(path: &str) -> Option<Self> {
        let (folder, rest) = path.split_once('/').unwrap_or(("", path));
        if !rest.ends_with(".json") || !is_safe(path) {
            return None;
        }
        Some(match folder {
            "" if rest == HEAD => Kind::Head,
            "" if rest == "custom.json" => Kind::Custom,
            "segments" => Kind::Segment,
            "pages" => Kind::Page,
            "history" => Kind::Entry,
            "contents" => Kind::Content,
            "views" if rest.ends_with("/view.json") => Kind::View,
            "views" => Kind::Chunk,
            "runs" => Kind::Run,
            "ledger" => Kind::Sent,
            _ => return None,
        })
    }
}

/// Names one thing of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spot {
    Head,
    Segment(SegmentId),
    Page(PageIndex),
    Entry(Revision),
    Content(ContentHash),
    View(ViewId),
    Chunk(ChunkKey),
    Custom,
    Run(RunKey),
    Sent(LedgerKey, u64),
}

impl Spot {
    /// Returns its file, from the session's folder on.
    ///
    /// Where there may be very many, the first thousand lie together, as people like it, and then
    /// each thousand in a folder of its own, as git does.
    pub(crate) fn path(&self) -> String {
        match self {
            Spot::Head => HEAD.to_owned(),
            Spot::Segment(id) => format!("segments/{}.json", encode(id.as_str())),
            Spot::Page(index) => {
                let name = encode(&index.to_string());
                format!("pages/{}{name}.json", thousand(index.number()))
            }
            Spot::Entry(revision) => {
                format!("history/{}{:08}.json", thousand(revision.0), revision.0)
            }
            Spot::Content(hash) => {
                let hash = hash.to_string();
                format!("contents/{}/{hash}.json", &hash[..2])
            }
            Spot::View(view) => format!("views/{}/view.json", encode(&view.to_string())),
            Spot::Chunk(ChunkKey { view, segment, chunk }) => {
                let view = encode(&view.to_string());
                format!("views/{view}/{}.{chunk}.json", encode(segment.as_str()))
            }
            Spot::Custom => "custom.json".to_owned(),
            Spot::Run(key) => format!("runs/{}.json", encode(key.as_str())),
            Spot::Sent(LedgerKey { view, format }, number) => {
                let view = encode(&view.to_string());
                format!("ledger/{view}.{format}/{}{number:08}.json", thousand(*number))
            }
        }
    }

    /// Returns its name, from which [`Spot::named`] makes it again.
    pub(crate) fn name(&self) -> String {
        match self {
            Spot::Head | Spot::Custom => String::new(),
            Spot::Segment(id) => id.to_string(),
            Spot::Page(index) => index.to_string(),
            Spot::Entry(revision) => revision.0.to_string(),
            Spot::Content(hash) => hash.to_string(),
            Spot::View(view) => view.to_string(),
            Spot::Chunk(ChunkKey { view, segment, chunk }) => format!("{view} {segment} {chunk}"),
            Spot::Run(key) => key.to_string(),
            Spot::Sent(LedgerKey { view, format }, number) => format!("{view} {format} {number}"),
        }
    }

    /// Makes it from its kind and its name.
    pub(crate) fn named(kind: Kind, name: &str) -> Option<Self> {
        let mut words = name.split(' ');
        Some(match kind {
            Kind::Head => Spot::Head,
            Kind::Custom => Spot::Custom,
            Kind::Segment => Spot::Segment(name.parse().ok()?),
            Kind::Page => Spot::Page(name.parse().ok()?),
            Kind::Entry => Spot::Entry(Revision(name.parse().ok()?)),
            Kind::Content => Spot::Content(name.parse().ok()?),
            Kind::View => Spot::View(name.parse().ok()?),
            Kind::Chunk => Spot::Chunk(ChunkKey {
                view: words.next()?.parse().ok()?,
                segment: words.next()?.parse().ok()?,
                chunk: words.next()?.parse().ok()?,
            }),
            Kind::Run => Spot::Run(name.parse().ok()?),
            Kind::Sent => {
                let view = words.next()?.parse().ok()?;
                let key = LedgerKey { view, format: words.next()?.parse().ok()? };
                Spot::Sent(key, words.next()?.parse().ok()?)
            }
        })
    }
}

fn thousand(number: u64) -> String {
    match number / 1_000 {
        0 => String::new(),
        thousand => format!("{thousand}/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // No name leaves its folder, none collides with another where case does not count.
    #[test]
    fn every_name_is_safe() {
        let long = "Z".repeat(128);
        let names = [
            "usr",
            "Usr",
            "USR",
            "..",
            ".",
            "a/b",
            "a\\b",
            "con",
            "CON",
            "com1.x",
            "com0",
            "lpt9",
            "nul",
            "a.",
            ".a",
            "%41",
            "ü",
            "a b",
            "x:y",
            "run/1/../../x",
            &long,
        ];
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            let safe = encode(name);
            assert!(is_safe(&safe) && safe.len() <= LONGEST && !safe.contains('/'), "{safe}");
            assert!(!is_reserved(&safe), "{safe}");
            assert!(safe.contains('~') || decode(&safe).as_deref() == Some(name), "{safe}");
            assert!(seen.insert(safe.to_lowercase()), "{name} collides");
        }
        assert_eq!(encode("demo.2-x_y"), "demo.2-x_y");
        assert_eq!(encode("Demo"), "%44emo");
        for bad in ["../x", "/etc", "a//b", "a/.git/b", "A", ".local/x", ""] {
            assert!(!is_safe(bad), "{bad}");
        }
    }

    #[test]
    fn spots_have_paths_of_their_kind_and_names_of_their_own() {
        let view: ViewId = "bot".parse().unwrap();
        let key = LedgerKey { view: view.clone(), format: "openai".parse().unwrap() };
        let chunk = ChunkKey { view: view.clone(), segment: "A-b".parse().unwrap(), chunk: 3 };
        let spots = [
            (Spot::Head, Kind::Head, "session.json"),
            (Spot::Segment("usr".parse().unwrap()), Kind::Segment, "segments/usr.json"),
            (Spot::Page("usr-7".parse().unwrap()), Kind::Page, "pages/usr-7.json"),
            (Spot::Page("usr-1234".parse().unwrap()), Kind::Page, "pages/1/usr-1234.json"),
            (Spot::Entry(Revision(7)), Kind::Entry, "history/00000007.json"),
            (Spot::View(view), Kind::View, "views/bot/view.json"),
            (Spot::Chunk(chunk), Kind::Chunk, "views/bot/%41-b.3.json"),
            (Spot::Custom, Kind::Custom, "custom.json"),
            (Spot::Run("run/Ünder".parse().unwrap()), Kind::Run, "runs/run%2f%c3%9cnder.json"),
            (Spot::Sent(key, 2_000), Kind::Sent, "ledger/bot.openai/2/00002000.json"),
        ];
        for (spot, kind, path) in spots {
            assert_eq!((spot.path().as_str(), Kind::of(path)), (path, Some(kind)));
            assert_eq!(Spot::named(kind, &spot.name()), Some(spot));
        }
        for stray in ["x.json", "pages/usr-1.txt", "pages/../session.json", "other/x.json"] {
            assert_eq!(Kind::of(stray), None, "{stray}");
        }
    }
}
