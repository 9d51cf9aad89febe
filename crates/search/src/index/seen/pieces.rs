//! What the vectors of the documents in a search are made of.

use super::{Parts, SeenDocuments, key, place};
use crate::{
    document::DocKey,
    embedding::Piece,
    index::{entry::Entry, seen::Found},
};

impl SeenDocuments<'_> {
    /// Shows the pieces of every message that is seen and that the search is not narrowed to others of. Pieces of a
    /// message come together.
    pub(crate) fn each_piece(&self, visit: &mut dyn FnMut(DocKey, Piece)) {
        for (number, segment) in self.numbered() {
            for block in segment.blocks.iter().filter(|it| it.block.has_pieces()) {
                for doc in block.docs.clone() {
                    let at = block.block.at(doc);
                    let parts = segment.parts(block, doc, at);
                    let key = key(number, at);
                    let passes = || {
                        let narrow = self.narrow.as_ref();
                        narrow.is_none_or(|it| it.has_document(block.block, doc, key))
                    };
                    if parts == Parts::NONE || !passes() {
                        continue;
                    }
                    let seen = block.block.pieces(doc).filter(|piece| piece.is_in(parts));
                    seen.for_each(|piece| visit(key, piece));
                }
            }
            for (at, tail) in segment.tails.iter().enumerate() {
                let is_seen = |entry: &&Entry| segment.entry_lengths(at, entry).is_some();
                for entry in tail.entries().filter(is_seen) {
                    let key = key(number, entry.at);
                    if self.narrow.as_ref().is_some_and(|it| !it.has_entry(entry, key)) {
                        continue;
                    }
                    let parts = segment.sight.of_entry(entry);
                    let seen = entry.pieces.iter().filter(|piece| piece.is_in(parts));
                    seen.for_each(|piece| visit(key, *piece));
                }
            }
        }
    }

    /// Shows the pieces of one message, as far as it is seen.
    pub(crate) fn pieces_of(&self, key: DocKey, visit: &mut dyn FnMut(Piece)) {
        let segment = self.segments.get(usize::from(key.segment));
        match segment.and_then(|segment| segment.find(place(key))) {
            Some((Found::Disk(block, doc), parts)) => {
                block.pieces(doc).filter(|piece| piece.is_in(parts)).for_each(visit);
            }
            Some((Found::Memory(entry), parts)) => {
                entry.pieces.iter().filter(|piece| piece.is_in(parts)).for_each(|it| visit(*it));
            }
            None => {}
        }
    }
}
