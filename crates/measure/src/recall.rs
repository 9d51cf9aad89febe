//! Recall: how well questions find the turns that answer them, in conversations of other people.
//!
//! ```text
//!  data ──► store ──► rank ──► table    every set, by BM25 alone, with all features, and without each
//!                        └───► runs     a file for each set, for other programs to score
//!                        └───► fit      weights, and what they give where they were not fitted
//! ```
//!
//! Each conversation is stored through the library as a user would, turned into documents from the stored
//! pages and searched. The data themselves are no part of the project.

mod data;
mod embed;
mod fit;
mod score;
mod store;

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use contexture_search::{Feature, Features, Query, RankOptions, Weights, rank};

use self::{data::Conversation, embed::Vectors, score::Means, store::Stored};

/// How many results of a question a run holds.
const RUN_LENGTH: usize = 50;

/// Flags of `recall`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder that holds the sets, each a folder of conversations.
    #[arg(long)]
    data: PathBuf,
    /// Writes what was found for every question to `SET.jsonl` in this folder.
    #[arg(long)]
    runs: Option<PathBuf>,
    /// Measures these sets only.
    #[arg(long)]
    set: Vec<String>,
    /// Fits weights and measures them on the conversations they were not fitted to.
    #[arg(long)]
    fit: bool,
    /// Compares meanings too, by an OpenAI-compatible endpoint at this address, such as `scripts/embedding-server`.
    #[arg(long, value_name = "URL")]
    embeddings: Option<String>,
    /// The model to ask for there.
    #[arg(long, value_name = "NAME", default_value = "all-minilm")]
    embedding_model: String,
}

/// A question that was searched: every candidate with what speaks for it.
pub(crate) struct Searched {
    /// The set it is of.
    set: usize,
    /// Its conversation, counted over all sets.
    conversation: usize,
    /// How many turns that has.
    turns: usize,
    qid: String,
    /// The names of the turns that answer it, or of the sessions where only these are known.
    gold: Vec<String>,
    by_session: bool,
    candidates: Vec<Candidate>,
}

pub(crate) struct Candidate {
    turn: String,
    session: String,
    features: Features,
}

impl Searched {
    /// Returns what weights find, best first: turns, or sessions by their best turn.
    fn ranked(&self, weights: &Weights) -> Vec<&str> {
        let mut order: Vec<(f32, &Candidate)> = self
            .candidates
            .iter()
            .map(|candidate| (weights.score(&candidate.features), candidate))
            .collect();
        // Candidates are in the order of their keys, by which equal scores are ordered.
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut names: Vec<&str> = Vec::new();
        for (_, candidate) in order {
            let name = if self.by_session { &candidate.session } else { &candidate.turn };
            if names.len() == RUN_LENGTH {
                break;
            }
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode> {
    let sets = data::sets(&args.data, &args.set)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (mut all, mut words) = (Vec::new(), Vec::new());
    let mut conversations = 0;
    for (number, set) in sets.iter().enumerate() {
        let mut found = Vec::new();
        for conversation in data::read(&args.data, set)? {
            let mut stored = runtime.block_on(Stored::new(&conversation))?;
            let none = Vectors::new();
            let by_words = search(&conversation, &mut stored, &none, number, conversations);
            if let Some(url) = &args.embeddings {
                words.extend(by_words);
                let questions = conversation.questions.iter().map(|it| it.question.as_str());
                let texts = stored.texts().chain(questions);
                let vectors = embed::vectors(&runtime, url, &args.embedding_model, texts)?;
                stored.learn(&vectors);
                found.extend(search(&conversation, &mut stored, &vectors, number, conversations));
            } else {
                found.extend(by_words);
            }
            conversations += 1;
        }
        if let Some(folder) = &args.runs {
            write_run(folder, set, &found)?;
        }
        all.extend(found);
    }
    if args.embeddings.is_some() {
        writeln!(out, "By words alone\n")?;
        write_sets(out, &sets, &words)?;
        writeln!(out, "\nBy words and meanings\n")?;
    }
    write_sets(out, &sets, &all)?;
    match (args.fit, &args.embeddings) {
        (_, Some(_)) => write_meanings(out, &sets, &all)?,
        (true, None) => write_fit(out, &sets, &all)?,
        (false, None) => write_features(out, &sets, &all)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn search(
    conversation: &Conversation,
    stored: &mut Stored,
    vectors: &Vectors,
    set: usize,
    number: usize,
) -> Vec<Searched> {
    let options = RankOptions::new(usize::MAX);
    let mut all = Vec::new();
    for question in &conversation.questions {
        let by_session = conversation.is_by_session();
        let gold = if by_session { &question.evidence_sessions } else { &question.evidence };
        if gold.is_empty() {
            continue;
        }
        let query = Query::read(&question.question, stored.last);
        stored.collection.ask(vectors.get(&question.question).cloned());
        let mut ranked = rank(&stored.collection, &query, &options);
        ranked.sort_by_key(|ranked| ranked.key);
        let candidates = ranked.into_iter().filter_map(|ranked| {
            let turn = &conversation.turns[*stored.turns.get(&ranked.key)?];
            let (turn, session) = (turn.id.clone(), turn.session.clone());
            Some(Candidate { turn, session, features: ranked.features })
        });
        all.push(Searched {
            set,
            conversation: number,
            turns: conversation.turns.len(),
            qid: question.qid.clone(),
            gold: gold.clone(),
            by_session,
            candidates: candidates.collect(),
        });
    }
    all
}

fn write_run(folder: &Path, set: &str, found: &[Searched]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("{set}.jsonl"));
    let mut lines = String::new();
    for searched in found {
        let ranked = searched.ranked(&Weights::FITTED);
        let line = serde_json::json!({ "qid": searched.qid, "ranked": ranked });
        lines.push_str(&line.to_string());
        lines.push('\n');
    }
    fs::write(&path, lines).with_context(|| format!("cannot write {}", path.display()))
}

fn write_sets(out: &mut dyn Write, sets: &[String], all: &[Searched]) -> Result<()> {
    writeln!(out, "recall@10 / nDCG@10 (recall@5 by session)\n")?;
    writeln!(out, "| set | questions | BM25 | all features |\n|---|---|---|---|")?;
    for (number, set) in sets.iter().enumerate() {
        let of_set = || all.iter().filter(|searched| searched.set == number);
        let bm25 = score::means(of_set(), &Weights::BM25);
        let ours = score::means(of_set(), &Weights::FITTED);
        writeln!(out, "| {set} | {} | {} | {} |", of_set().count(), text(&bm25), text(&ours))?;
    }
    Ok(())
}

fn text(means: &Means) -> String {
    match means.by_session {
        true => format!("{:.3} by session", means.recall_at_5),
        false => format!("{:.3} / {:.3}", means.recall, means.ndcg),
    }
}

/// Writes what each feature gives: weights fitted again without it.
fn write_features(out: &mut dyn Write, sets: &[String], all: &[Searched]) -> Result<()> {
    writeln!(out, "\nWithout a feature, the others fitted again (recall@10 / nDCG@10)\n")?;
    head(out, sets)?;
    let words = words();
    let whole = fit::fit(&all.iter().collect::<Vec<_>>(), &words, Weights::FITTED);
    row(out, "all, fitted here", sets, all, &whole)?;
    for left_out in words.clone() {
        let features: Vec<Feature> =
            words.iter().copied().filter(|feature| *feature != left_out).collect();
        let start = whole.with(left_out, 0.0);
        let weights = fit::fit(&all.iter().collect::<Vec<_>>(), &features, start);
        row(out, &format!("without {}", left_out.name()), sets, all, &weights)?;
    }
    Ok(())
}

fn write_fit(out: &mut dyn Write, sets: &[String], all: &[Searched]) -> Result<()> {
    let weights = fit::fit(&all.iter().collect::<Vec<_>>(), &words(), Weights::FITTED);
    let named: Vec<String> = Feature::ALL
        .iter()
        .map(|feature| format!("{} {:.2}", feature.name(), weights.get(*feature)))
        .collect();
    writeln!(out, "\nfitted to all: {}\n", named.join(", "))?;
    head(out, sets)?;
    row(out, "compiled in", sets, all, &Weights::FITTED)?;
    row(out, "fitted to all", sets, all, &weights)?;
    let means = fit::left_out(all, sets.len(), &words(), weights);
    let cells: Vec<String> = means.iter().map(text).collect();
    writeln!(out, "| one conversation left out | {} |", cells.join(" | "))?;
    Ok(())
}

/// Returns the features that need no vectors.
fn words() -> Vec<Feature> {
    Feature::ALL.into_iter().filter(|feature| *feature != Feature::Similar).collect()
}

/// Writes what comparing meanings gives: by the weight that is compiled in, by one fitted to other conversations while the
/// weights of words stay, and by meanings alone.
fn write_meanings(out: &mut dyn Write, sets: &[String], all: &[Searched]) -> Result<()> {
    let similar = [Feature::Similar];
    let fitted = fit::fit(&all.iter().collect::<Vec<_>>(), &similar, Weights::FITTED);
    writeln!(out, "\nfitted to all: similar {:.2}\n", fitted.get(Feature::Similar))?;
    head(out, sets)?;
    row(
        out,
        "meanings alone",
        sets,
        all,
        &Weights::BM25.with(Feature::Match, 0.0).with(Feature::Similar, 1.0),
    )?;
    row(out, "compiled in", sets, all, &Weights::FITTED)?;
    row(out, "fitted to all", sets, all, &fitted)?;
    let means = fit::left_out(all, sets.len(), &similar, Weights::FITTED);
    let cells: Vec<String> = means.iter().map(text).collect();
    writeln!(out, "| one conversation left out | {} |", cells.join(" | "))?;
    Ok(())
}

fn head(out: &mut dyn Write, sets: &[String]) -> Result<()> {
    writeln!(out, "| weights | {} |", sets.join(" | "))?;
    writeln!(out, "|---|{}", "---|".repeat(sets.len()))?;
    Ok(())
}

fn row(
    out: &mut dyn Write,
    name: &str,
    sets: &[String],
    all: &[Searched],
    weights: &Weights,
) -> Result<()> {
    let means = (0..sets.len()).map(|number| {
        text(&score::means(all.iter().filter(|searched| searched.set == number), weights))
    });
    writeln!(out, "| {name} | {} |", means.collect::<Vec<_>>().join(" | "))?;
    Ok(())
}
