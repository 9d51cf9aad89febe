//! `window`: the shares of an agent's windows. Only our own files have it.

use super::{
    Dialect,
    fields::Fields,
    node::{Entry, Value},
    problem::{FileProblem, quoted},
};
use crate::shares::{Share, ShareSettings};

const KEY: &str = "window";
const SHARES: &str = "window.shares";

/// Takes the shares. Whatever is wrong with them is an error.
pub(crate) fn shares(fields: &mut Fields, dialect: Dialect) -> ShareSettings {
    let mut shares = ShareSettings::default();
    // In files of other programs it is a field like any other that nobody knows.
    if dialect != Dialect::Contexture {
        return shares;
    }
    let Some(entry) = fields.take(KEY) else { return shares };
    let Value::Map(parts) = &entry.node.value else {
        fields.wrong_type(KEY, &entry.node, "a map with `shares`");
        return shares;
    };
    for part in parts {
        if part.key != "shares" {
            let message = format!("'{KEY}' has no field '{}'", quoted(&part.key));
            let problem = FileProblem::error(message).at(part.line, part.column).field(KEY);
            fields.report(problem.hint("its only field is `shares`"));
        } else if !part.node.is_null() {
            read(fields, part, &mut shares);
        }
    }
    shares
}

fn read(fields: &mut Fields, part: &Entry, shares: &mut ShareSettings) {
    let Value::Map(entries) = &part.node.value else {
        fields.wrong_type(SHARES, &part.node, "a map such as `requests: 0.25`");
        return;
    };
    for Entry { key, line, column, node } in entries {
        let share: Share = match key.parse() {
            Ok(share) => share,
            Err(reason) => {
                let message = format!("'{SHARES}': {reason}");
                fields.report(FileProblem::error(message).at(*line, *column).field(KEY));
                continue;
            }
        };
        match node.text().and_then(|text| share.read(text.trim())) {
            Some(value) => {
                shares.set(share, value);
            }
            None => fields.wrong_type(&format!("{SHARES}.{share}"), node, share.wanted()),
        }
    }
    if let Err(reason) = shares.check() {
        let message = format!("'{SHARES}': {reason}");
        fields.report(FileProblem::error(message).at(part.line, part.column).field(KEY));
    }
}
