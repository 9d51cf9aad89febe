//! Turns a usage error of the command-line parser into a message and a hint, with the word
//! that was probably meant.

use clap::error::ErrorKind;

/// Returns what is wrong with a command line, and what to do about it.
pub(crate) fn explain(error: &clap::Error) -> (String, String) {
    let text = error.render().to_string();
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let message = match error.kind() {
        // For these, clap renders the help or the list of commands.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            "no command was given".to_owned()
        }
        _ => first_paragraph(&text),
    };
    let tips = text.lines().filter_map(|line| line.trim_start().strip_prefix("tip: "));
    let usage = usage.map(|usage| format!("usage: {usage}"));
    let hints: Vec<String> = tips.map(str::to_owned).chain(usage).collect();
    let hint = match hints.as_slice() {
        [] => "run the command with --help to see its arguments".to_owned(),
        hints => hints.join("; "),
    };
    (message, hint)
}

/// Returns the lines up to the first empty one, as one line.
fn first_paragraph(text: &str) -> String {
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let lines = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    lines.collect::<Vec<_>>().join(" ")
}

/// Returns the known word that is nearest to one that is not known, if any is near.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = (word.chars().count() / 3).clamp(1, 2);
    // Distances of very long words are never small, and dear to compute.
    let short = word.len() <= 100;
    let distance = |known: &&str| strsim::damerau_levenshtein(word, known);
    let near = known.into_iter().filter(|known| short && distance(known) <= most);
    near.min_by_key(|known| (distance(known), *known))
}
