//! A collection of what a view reads, made without the index: the model that the index must equal.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use contexture_core::{
    Message, PageIndex, PageStorage, SegmentId, Session,
    message::{AdmittedMessages, MessageFilter},
    storage::{PageStanding, ScanQuery, StandingFilter},
};

use crate::{
    collection::{Collection, Counts, Facts, Posting, Size},
    document::{DocKey, Document, Field},
    text::cut,
};

#[derive(Default)]
pub(super) struct Naive {
    documents: BTreeMap<DocKey, NaiveDocument>,
}

struct NaiveDocument {
    facts: Facts,
    terms: BTreeMap<String, Counts>,
}

impl Naive {
    /// Reads what a session's holder sees.
    pub(super) async fn read(
        session: &Session,
        storage: &dyn PageStorage,
        segments: &[SegmentId],
    ) -> Self {
        let mut naive = Self::default();
        for (number, segment) in (0..).zip(segments) {
            let query = ScanQuery {
                segment: segment.clone(),
                standing: StandingFilter::Any,
                after: None,
                limit: 100_000,
            };
            let mut stored = storage.scan(session.id(), &query).await.unwrap();
            // A scan of a branch's own segment begins behind its root.
            let root = PageIndex::new(segment.clone(), 0);
            if !stored.first().is_some_and(|page| page.index.is_root()) {
                let read = storage.pages(session.id(), &[root]).await.unwrap();
                stored.splice(0..0, read.into_iter().flatten());
            }
            let indices: Vec<_> = stored.iter().map(|page| page.index.clone()).collect();
            let admitted = session.reader().admit(&indices).await.unwrap();
            for (stored, admitted) in stored.iter().zip(admitted) {
                let Some(admitted) = admitted else { continue };
                assert!(!matches!(stored.standing, PageStanding::Moved(_)));
                let messages: Vec<Message> = match stored.detail() {
                    Some(detail) => {
                        let hashes = [detail.content];
                        let contents = storage.contents(session.id(), &hashes).await.unwrap();
                        contents[0].as_ref().map(|it| it.messages().unwrap()).unwrap_or_default()
                    }
                    None => Vec::new(),
                };
                for mut document in Document::of_page(stored, &messages) {
                    match usize::from(document.message).checked_sub(1) {
                        None => {
                            let seen = &admitted.page;
                            let described = usize::from(!stored.description.is_empty());
                            let mut named = document.texts.len() > described;
                            document.texts.retain(|_| match std::mem::take(&mut named) {
                                true => seen.name == stored.name,
                                false => seen.description == stored.description,
                            });
                        }
                        Some(position) => {
                            document.texts =
                                seen_texts(stored, &admitted.messages, &messages, position);
                        }
                    }
                    let page = stored.index.number() as u32;
                    let key = DocKey { segment: number, page, message: document.message };
                    naive.add(key, &document);
                }
            }
        }
        naive
    }

    fn add(&mut self, key: DocKey, document: &Document<'_>) {
        let mut lengths = [0; Field::ALL.len()];
        let mut terms: BTreeMap<String, Counts> = BTreeMap::new();
        for (field, text) in &document.texts {
            cut(text, &mut |term| {
                lengths[*field as usize] += u16::from(term.counts());
                terms.entry(term.text.to_owned()).or_default()[*field as usize] += 1;
            });
        }
        // What nobody can find does not count.
        if terms.is_empty() {
            return;
        }
        let facts = Facts {
            lengths,
            marks: document.marks(|_| true),
            speaker: document.speaker_hash(),
            at: document.at,
            chapter: document.chapter,
        };
        self.documents.insert(key, NaiveDocument { facts, terms });
    }

    pub(super) fn keys(&self) -> Vec<DocKey> {
        self.documents.keys().copied().collect()
    }

    pub(super) fn vocabulary(&self) -> BTreeSet<String> {
        self.documents.values().flat_map(|document| document.terms.keys().cloned()).collect()
    }
}

/// Returns what is seen of a message.
fn seen_texts(
    page: &contexture_core::Page,
    admitted: &AdmittedMessages,
    messages: &[Message],
    position: usize,
) -> Vec<(Field, Cow<'static, str>)> {
    let texts = |message: Message| {
        let messages = [message];
        let documents = Document::of_page(page, &messages).into_iter().map(Document::into_owned);
        documents.filter(|it| it.message == 1).flat_map(|it| it.texts).collect()
    };
    match admitted {
        AdmittedMessages::All => texts(messages[position].clone()),
        AdmittedMessages::Some(seen) => match seen.iter().find(|seen| seen.position == position) {
            None => Vec::new(),
            Some(seen) if seen.whole => texts(messages[position].clone()),
            Some(_) => {
                let heard = MessageFilter::WithoutTools.heard(vec![messages[position].clone()]);
                heard.into_iter().flat_map(texts).collect()
            }
        },
    }
}

impl Collection for Naive {
    fn size(&self) -> Size {
        let mut size = Size::default();
        for document in self.documents.values() {
            size.documents += 1;
            for (sum, length) in size.terms.iter_mut().zip(document.facts.lengths) {
                *sum += u64::from(length);
            }
        }
        size
    }

    fn postings(&self, term: &str, visit: &mut dyn FnMut(&Posting) -> bool) {
        for (key, document) in &self.documents {
            let Some(counts) = document.terms.get(term) else { continue };
            let posting = Posting { key: *key, counts: *counts, lengths: document.facts.lengths };
            if !visit(&posting) {
                return;
            }
        }
    }

    fn completions(&self, prefix: &str, limit: usize) -> Vec<String> {
        self.vocabulary().into_iter().filter(|term| term.starts_with(prefix)).take(limit).collect()
    }

    fn speaks(&self, speaker: u32) -> bool {
        self.documents.values().any(|document| document.facts.speaker == speaker)
    }

    fn facts(&self, key: DocKey) -> Option<Facts> {
        self.documents.get(&key).map(|document| document.facts)
    }

    fn around(&self, key: DocKey, reach: usize, visit: &mut dyn FnMut(DocKey)) {
        let near = |other: &&DocKey| other.segment == key.segment && other.message > 0;
        let before = self.documents.range(..key).map(|(key, _)| key).rev().filter(near).take(reach);
        let before: Vec<DocKey> = before.copied().collect();
        before.into_iter().rev().for_each(&mut *visit);
        visit(key);
        let after =
            self.documents.range(key..).map(|(key, _)| key).skip(1).filter(near).take(reach);
        after.copied().for_each(visit);
    }

    fn terms(&self, key: DocKey) -> Vec<(String, u32)> {
        let terms = self.documents.get(&key).into_iter().flat_map(|document| &document.terms);
        terms
            .map(|(term, counts)| (term.clone(), counts.iter().map(|it| u32::from(*it)).sum()))
            .collect()
    }
}
