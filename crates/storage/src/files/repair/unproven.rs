//! What files in the quarantine say of pages whose text is lost. Nothing proves it: somebody edited the
//! file by hand, or a disk damaged it.

use contexture_core::{Message, Page, SessionId, storage::StorageResult};

use super::{
    super::{
        folder::Folder,
        names::{self, QUARANTINE, Spot},
        record,
    },
    names_away,
};

/// Returns what the newest file of a page in the quarantine says, if it is of the page as it stands.
pub(crate) fn unproven(
    folder: &Folder,
    session: &SessionId,
    page: &Page,
) -> StorageResult<Option<Vec<Message>>> {
    let path = format!("{}/{}", names::session(session), Spot::Page(page.index.clone()).path());
    let mut look = folder.look();
    let mut newest = None;
    for name in names_away(&path) {
        let away = format!("{QUARANTINE}/{name}");
        let note = look.stamp(&format!("{away}.note"))?;
        let bytes = match look.read(&away) {
            Ok(Some((bytes, _))) => bytes,
            Ok(None) if note.is_none() => break,
            // A link or a folder that lay in the file's place says nothing.
            Ok(None) | Err(_) => continue,
        };
        if record::page_of(&bytes).is_some_and(|said| is_same(&said, page)) {
            newest = record::unproven_words(&bytes).or(newest);
        }
    }
    Ok(newest)
}

/// Tells whether a record is of this page in this version, with the text that is lost.
fn is_same(said: &Page, page: &Page) -> bool {
    said.index == page.index && said.version == page.version && said.detail() == page.detail()
}
