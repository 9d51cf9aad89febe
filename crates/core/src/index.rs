//! Segment ids and page indices: one grammar, one parser, used at every entrance.
//!
//! `<segment>-<number>`, split at the *last* dash. The owning segment is looked up exactly, never
//! by prefix, so `pub` and `pub-secure` cannot be confused.

use std::{fmt, str::FromStr, sync::Arc};

use crate::Error;

/// Names a segment: `[A-Za-z0-9_]+(-[A-Za-z0-9_]+)*`, at most 64 characters.
///
/// ```
/// use contexture_core::SegmentId;
/// assert!("agent-code_reviewer".parse::<SegmentId>().is_ok());
/// assert!("../etc".parse::<SegmentId>().is_err());
/// ```
///
/// A segment id cannot pass for a page index:
///
/// ```compile_fail
/// use contexture_core::{PageIndex, SegmentId};
/// let segment: SegmentId = "usr".parse().unwrap();
/// let page: PageIndex = segment;
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SegmentId(Arc<str>);

impl SegmentId {
    /// The longest id allowed, in characters.
    pub const MAX: usize = 64;

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the index of the segment's root page, `<id>-0`.
    pub fn root(&self) -> PageIndex {
        PageIndex::new(self.clone(), 0)
    }
}

impl FromStr for SegmentId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match segment_fault(text) {
            None => Ok(Self(text.into())),
            Some(reason) => {
                Err(Error::InvalidText { what: "segment id", text: shorten(text), reason })
            }
        }
    }
}

/// The one name of a page in its session, such as `usr-3`.
///
/// ```
/// use contexture_core::PageIndex;
/// let index: PageIndex = "pub-secure-12".parse()?;
/// assert_eq!((index.segment().as_str(), index.number()), ("pub-secure", 12));
/// assert!("usr-03".parse::<PageIndex>().is_err());
/// # Ok::<(), contexture_core::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageIndex {
    segment: SegmentId,
    number: u64,
}

impl PageIndex {
    /// Joins a segment and a number.
    pub fn new(segment: SegmentId, number: u64) -> Self {
        Self { segment, number }
    }

    /// Returns the owning segment.
    pub fn segment(&self) -> &SegmentId {
        &self.segment
    }

    /// Returns the number within the segment; the root's is 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Tells whether this is a segment's root.
    pub fn is_root(&self) -> bool {
        self.number == 0
    }

    /// Parses an index, reading a bare number as a page of `only` where a view holds one segment.
    pub fn parse_within(text: &str, only: Option<&SegmentId>) -> Result<Self, Error> {
        match (parse_number(text), only) {
            (Ok(number), Some(segment)) => Ok(Self::new(segment.clone(), number)),
            (Ok(_), None) => Err(Error::InvalidIndex {
                text: shorten(text),
                reason: "a bare number needs a view with exactly one segment",
            }),
            (Err(_), _) => text.parse(),
        }
    }
}

impl FromStr for PageIndex {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let fault = |reason| Error::InvalidIndex { text: shorten(text), reason };
        let (segment, number) =
            text.rsplit_once('-').ok_or_else(|| fault("it has no dash before a number"))?;
        let number = parse_number(number).map_err(fault)?;
        if let Some(reason) = segment_fault(segment) {
            return Err(fault(reason));
        }
        Ok(Self { segment: SegmentId(segment.into()), number })
    }
}

fn parse_number(text: &str) -> Result<u64, &'static str> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("it does not end in a number");
    }
    if text.len() > 1 && text.starts_with('0') {
        return Err("its number has leading zeros");
    }
    text.parse().map_err(|_| "its number is too large")
}

fn segment_fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("the segment is empty");
    }
    if text.len() > SegmentId::MAX {
        return Some("the segment is longer than 64 characters");
    }
    let word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    (!text.split('-').all(word))
        .then_some("a segment may contain only letters, digits and _, joined by single dashes")
}

/// Shortens outside text for an error message.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let clean = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
    let mut short: String = clean.clone().take(MOST).collect();
    if clean.count() > MOST {
        short.push('…');
    }
    short
}

impl fmt::Display for PageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.segment, self.number)
    }
}

impl fmt::Debug for PageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::text::serde_as_text!(SegmentId, PageIndex);

#[cfg(test)]
mod tests {
    use super::*;

    // P-05, B-57: one grammar, split at the last dash.
    #[test]
    fn indices_follow_one_grammar() {
        for good in ["usr-0", "usr-18446744073709551615", "a_b-c-7", "0-0", "pub-secure-1"] {
            assert_eq!(good.parse::<PageIndex>().unwrap().to_string(), good);
        }
        let long = format!("{}-1", "x".repeat(65));
        for bad in [
            "",
            "-",
            "usr",
            "usr-",
            "-1",
            "usr--1",
            "usr-01",
            "usr-+1",
            "usr-1x",
            "us r-1",
            "usr-18446744073709551616",
            "../x-1",
            "usr/../a-1",
            "ü-1",
            "usr-1\n",
            "root",
            &long,
        ] {
            assert!(bad.parse::<PageIndex>().is_err(), "{bad:?} was accepted");
        }
    }

    #[test]
    fn a_bare_number_needs_a_single_segment() {
        let usr: SegmentId = "usr".parse().unwrap();
        assert_eq!(PageIndex::parse_within("3", Some(&usr)).unwrap().to_string(), "usr-3");
        assert!(PageIndex::parse_within("3", None).is_err());
        assert_eq!(PageIndex::parse_within("sys-3", Some(&usr)).unwrap().to_string(), "sys-3");
    }

    // Natural order, usr-2 before usr-10.
    #[test]
    fn order_is_natural() {
        let mut indices: Vec<PageIndex> =
            ["usr-10", "usr-2", "sys-3"].iter().map(|text| text.parse().unwrap()).collect();
        indices.sort();
        assert_eq!(format!("{indices:?}"), "[sys-3, usr-2, usr-10]");
    }
}
