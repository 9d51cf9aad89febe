//! Rendering a prepared window: pieces, then the format.

use std::{ops::Range, sync::Arc};

use super::prepare::Prepared;
use crate::{
    ContextSystem, Error, Format, PageIndex, ProviderFormat, Reader, Result, Tokens, Window,
    WindowOptions,
    context::RenderKey,
    message::MessageFilter,
    storage::{ContentHash, Quoted, SentPiece, SentSource, SentWindow},
    system::derived_cache::Scale,
    window::{
        Breakpoints, Piece, PieceKey, WindowParts,
        account::account,
        line::Style,
        piece::{self, Mark},
        plan::{BlockContent, Item},
        provider::{self, RenderedPiece, RenderedSystem},
        source::{Family, RENDERER, ShownBody, markdown},
    },
};

/// A rendering: the body, and where its messages stand.
pub(super) struct Rendering {
    pub(super) body: String,
    pub(super) messages: Vec<Range<usize>>,
    pub(super) repaired: Vec<String>,
}

/// What of an earlier window stands in this one, for cache breakpoints.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Before {
    /// How many pieces stand before the freeze line.
    pub(super) frozen: u64,
    /// The last message of the window before, if it still stands.
    pub(super) tail: Option<u64>,
}

impl Reader<'_> {
    pub(super) async fn render(
        &self,
        options: &WindowOptions,
        prepared: &Prepared,
    ) -> Result<Window> {
        Ok(self.render_after(options, prepared, None).await?.0)
    }

    /// Renders a window that is sent after another; returns also the last message of that one, where
    /// it still stands.
    pub(super) async fn render_after(
        &self,
        options: &WindowOptions,
        prepared: &Prepared,
        last: Option<&SentWindow>,
    ) -> Result<(Window, Option<u64>)> {
        let mut pieces = pieces(&prepared.plan.items, options.family());
        let mut frozen = frozen(&prepared.plan.items, options.family());
        if let Some(preface) = preface_piece(prepared) {
            let at = pieces.iter().take_while(|piece| piece.system).count();
            pieces.insert(at, preface);
            frozen += u64::from(frozen > 0);
        }
        pieces.extend(live_pieces(prepared));
        let mut frame = None;
        if options.format == Format::Context {
            frame = Some(self.frame(prepared).await?);
        }
        // Breakpoints move with what was sent before; nothing else does.
        let tail = last.and_then(|last| previous_tail(last, &pieces));
        let before = Before { frozen, tail };
        let rendering = self
            .system
            .render_pieces(options, &prepared.mark, &pieces, before, frame.as_deref())
            .await?;
        let tail = tail.filter(|tail| *tail < rendering.messages.len() as u64);
        let window = Window {
            format: options.format,
            hash: ContentHash::of(rendering.body.as_bytes()),
            body: rendering.body,
            version: prepared.identity.version,
            key: match tail {
                None => prepared.identity.key.clone(),
                Some(tail) => {
                    let key = prepared.identity.key.as_str();
                    RenderKey::of([key.as_bytes(), &tail.to_le_bytes()])
                }
            },
            revision: prepared.revision,
            account: account(
                options,
                prepared.budget,
                &prepared.outline,
                &prepared.plan,
                prepared.beside(),
            ),
            due: prepared.fold.as_ref().map(|fold| fold.report),
            anchors: prepared.anchors.clone(),
            repaired: rendering.repaired,
            messages: rendering.messages,
            pieces,
            frozen,
            frame,
        };
        Ok((window, tail))
    }
}

/// Returns the last message of the window before, if everything of it still stands.
fn previous_tail(last: &SentWindow, pieces: &[SentPiece]) -> Option<u64> {
    let tail = last.messages.checked_sub(1)?;
    let kept = last.pieces.iter().zip(pieces);
    let stands = kept.take_while(|(old, new)| old.page == new.page).count() + 1;
    (stands >= last.pieces.len()).then_some(tail)
}

/// Returns the page that pieces of no page are named after.
fn first_root(prepared: &Prepared) -> PageIndex {
    let root = prepared.outline.sections.first().map(|section| section.segment.root());
    root.unwrap_or_else(|| "sys-0".parse().expect("it follows the grammar"))
}

/// Returns what explains the window: it speaks of no page, and stands with the prompts.
fn preface_piece(prepared: &Prepared) -> Option<SentPiece> {
    let (text, tokens) = prepared.preface.clone()?;
    Some(SentPiece {
        page: first_root(prepared),
        system: true,
        tokens,
        source: SentSource::Engine(text),
        quotes: Some(Vec::new()),
    })
}

/// Returns the pieces that are made anew for each window.
fn live_pieces(prepared: &Prepared) -> impl Iterator<Item = SentPiece> {
    let page = first_root(prepared);
    // Actions name all segments.
    let roots = prepared.outline.sections.iter().map(|section| section.segment.root());
    let named = roots.chain(prepared.focus.clone());
    let quotes: Vec<Quoted> =
        named.map(|page| Quoted { page, speech: MessageFilter::All }).collect();
    prepared.tail.iter().map(move |(text, tokens)| SentPiece {
        page: page.clone(),
        system: false,
        tokens: *tokens,
        source: SentSource::Engine(text.clone()),
        quotes: Some(quotes.clone()),
    })
}

/// How long a piece of lines is before further ones make a piece of their own: what grows at its end
/// leaves the pieces before it as they are.
const JOINED: usize = 4_096;

/// Returns a line that continues a piece of the engine: the mark at the beginning of the piece speaks
/// for it, since what comes from outside never begins a line there.
fn without_mark(line: &str) -> &str {
    let behind = line.strip_prefix("[ctx:").and_then(|behind| behind.split_once("] "));
    behind.map_or(line, |(_, behind)| behind)
}

/// Turns the items of a plan into pieces: lines that a fold left side by side are joined.
fn pieces(items: &[Item], family: Family) -> Vec<SentPiece> {
    let mut pieces: Vec<SentPiece> = Vec::new();
    let mut open = false;
    for item in items {
        let folded = family == Family::Provider && !item.system && item.block.is_folded();
        let mut requests = item.requests;
        for (page, source) in item.sources() {
            let is_line = matches!(source, SentSource::Engine(_));
            // What requests take is noted at the first of them.
            let tokens = match is_line {
                true => item.tokens - item.requests,
                false if item.requests > 0 => std::mem::take(&mut requests),
                false => item.tokens,
            };
            if let (true, true, SentSource::Engine(line), Some(last)) =
                (open, folded, &source, pieces.last_mut())
                // Each piece is of one segment: a view that loses it must not see it again.
                && last.page.segment() == page.segment()
                && let SentSource::Engine(lines) = &mut last.source
                && lines.len() < JOINED
            {
                lines.push('\n');
                lines.push_str(without_mark(line));
                last.tokens = Tokens(last.tokens.0 + tokens);
                last.quotes.get_or_insert_default().extend(item.quotes().unwrap_or_default());
                continue;
            }
            open = folded && is_line;
            let quotes = is_line.then(|| item.quotes()).flatten();
            let tokens = Tokens(tokens);
            pieces.push(SentPiece { page, system: item.system, tokens, source, quotes });
        }
    }
    pieces
}

/// Counts the pieces before the first line that a fold left: the frozen early part.
fn frozen(items: &[Item], family: Family) -> u64 {
    // A run that is out of the window leaves no line.
    let shows = |item: &Item| !matches!(item.block_content, BlockContent::Nothing);
    let is_line = |item: &&Item| !item.system && item.block.is_folded() && shows(item);
    if !items.iter().any(|item| is_line(&item)) {
        return 0;
    }
    let early = items.iter().take_while(|item| !is_line(item)).cloned().collect::<Vec<_>>();
    pieces(&early, family).len() as u64
}

impl ContextSystem {
    /// Renders pieces to a format. The same pieces give the same bytes.
    pub(super) async fn render_pieces(
        &self,
        options: &WindowOptions,
        mark: &Mark,
        pieces: &[SentPiece],
        before: Before,
        frame: Option<&str>,
    ) -> Result<Rendering> {
        match options.format {
            Format::Provider(format) => {
                self.render_provider(options, format, mark, pieces, before).await
            }
            Format::Markdown => {
                let body = self.render_markdown(options, pieces).await?;
                Ok(Rendering { body, messages: Vec::new(), repaired: Vec::new() })
            }
            Format::Context => {
                let content = self.render_markdown(options, pieces).await?;
                let body = super::envelope::fill(frame.unwrap_or_default(), &content)?;
                Ok(Rendering { body, messages: Vec::new(), repaired: Vec::new() })
            }
        }
    }

    async fn render_provider(
        &self,
        options: &WindowOptions,
        format: ProviderFormat,
        mark: &Mark,
        pieces: &[SentPiece],
        before: Before,
    ) -> Result<Rendering> {
        let style = Style { mark: Some(mark), filter: options.filter.as_ref() };
        let counter = options.counter.as_ref();
        let scale = Scale { family: Family::Provider, counter, style };
        let mut system: Vec<Arc<RenderedSystem>> = Vec::new();
        let keys: Vec<PieceKey> =
            pieces.iter().map(|piece| piece_key(piece, options, mark, format)).collect();
        let since = self.inner.derived.drops();
        let known = self.inner.derived.rendered(&keys);
        // Prompts are made anew each time.
        let is_known = |(known, sent): (&Option<_>, &SentPiece)| known.is_some() && !sent.system;
        self.fetch_shown(pieces, known.iter().zip(pieces).map(is_known)).await?;
        let mut talk: Vec<Arc<RenderedPiece>> = Vec::with_capacity(pieces.len());
        for ((sent, key), known) in pieces.iter().zip(keys).zip(known) {
            if let (false, Some(known)) = (sent.system, known) {
                talk.push(known);
                continue;
            }
            let piece = self.piece(sent, key, &scale).await?;
            if sent.system {
                system.push(Arc::new(provider::render_system(&piece, mark)));
                continue;
            }
            let model = options.model.as_deref();
            let mut rendered = provider::render_piece(format, &piece, mark, model);
            rendered.shrink();
            let rendered = Arc::new(rendered);
            self.inner.derived.keep_rendered(key, &rendered, since);
            talk.push(rendered);
        }
        let freeze = before.frozen.checked_sub(system.len() as u64 + 1);
        let breakpoints = Breakpoints {
            freeze: freeze.and_then(|at| usize::try_from(at).ok()),
            previous_tail: before.tail.and_then(|at| usize::try_from(at).ok()),
        };
        let parts = WindowParts { system: &system, talk: &talk, breakpoints };
        let assembled = provider::assemble(format, parts).map_err(|violation| {
            Error::InvalidRendering { format: format.as_str(), reason: violation.to_string() }
        })?;
        Ok(Rendering {
            body: assembled.json,
            messages: assembled.items,
            repaired: assembled.repaired,
        })
    }

    /// Reads what pieces show that are not rendered yet.
    async fn fetch_shown(
        &self,
        pieces: &[SentPiece],
        are_known: impl Iterator<Item = bool>,
    ) -> Result<()> {
        let wanted = pieces.iter().zip(are_known).filter(|(_, is_known)| !is_known);
        let bodies = wanted.filter_map(|(sent, _)| ShownBody::of(&sent.source));
        Ok(self.fetch_contents(bodies.map(|body| body.content)).await?)
    }

    async fn piece(&self, sent: &SentPiece, key: PieceKey, scale: &Scale<'_>) -> Result<Piece> {
        let content = match &sent.source {
            SentSource::Engine(text) => piece::PieceContent::Engine(text.as_str().into()),
            SentSource::Messages { .. } | SentSource::Turn { .. } | SentSource::Note { .. } => {
                let body =
                    ShownBody::of(&sent.source).expect("all of these show a page's messages");
                let messages: Arc<[_]> = self.shown(&body, scale).await?.into();
                match &sent.source {
                    SentSource::Note { head, .. } => {
                        piece::PieceContent::Note { head: head.as_str().into(), body: messages }
                    }
                    SentSource::Turn { head, .. } => {
                        piece::PieceContent::Turn { head: head.as_str().into(), messages }
                    }
                    _ => piece::PieceContent::Messages(messages),
                }
            }
            SentSource::Purged => piece::PieceContent::Engine("(purged)".into()),
        };
        Ok(Piece { key, page: sent.page.clone(), content })
    }

    async fn render_markdown(
        &self,
        options: &WindowOptions,
        pieces: &[SentPiece],
    ) -> Result<String> {
        let style = Style { mark: None, filter: options.filter.as_ref() };
        let counter = options.counter.as_ref();
        let scale = Scale { family: Family::Markdown, counter, style };
        let format = ProviderFormat::OpenAi;
        let keys: Vec<PieceKey> =
            pieces.iter().map(|piece| piece_key(piece, options, self.mark(), format)).collect();
        let since = self.inner.derived.drops();
        let known = self.inner.derived.texts(&keys);
        self.fetch_shown(pieces, known.iter().map(Option::is_some)).await?;
        let mut text = String::new();
        for ((sent, key), known) in pieces.iter().zip(keys).zip(known) {
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            match (&sent.source, known) {
                (_, Some(known)) => text.push_str(&known),
                (SentSource::Engine(line), None) => text.push_str(line),
                (SentSource::Purged, None) => text.push_str("(purged)"),
                (source, None) => {
                    let Some(body) = ShownBody::of(source) else { continue };
                    let messages = self.shown(&body, &scale).await?;
                    let mut piece = match source {
                        SentSource::Note { head, .. } => format!("{head}\n"),
                        _ => String::new(),
                    };
                    piece.push_str(&markdown(&messages, body.trusted));
                    let piece: Arc<str> = piece.into();
                    self.inner.derived.keep_text(key, &piece, since);
                    text.push_str(&piece);
                }
            }
        }
        text.push('\n');
        Ok(text)
    }
}

/// Names what a piece renders to.
fn piece_key(
    piece: &SentPiece,
    options: &WindowOptions,
    mark: &Mark,
    format: ProviderFormat,
) -> PieceKey {
    let mut hasher = blake3::Hasher::new();
    let mut field = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    field(&[RENDERER as u8, format as u8, options.family() as u8]);
    field(mark.as_str().as_bytes());
    field(options.model.as_deref().unwrap_or_default().as_bytes());
    field(piece.page.to_string().as_bytes());
    if let Some(body) = ShownBody::of(&piece.source) {
        field(body.content.as_bytes());
        field(&body.limit.map_or(u64::MAX, |limit| limit.0).to_le_bytes());
        field(&[u8::from(body.trusted)]);
        // Where nothing can be cut, neither the tokenizer nor the filter matters.
        if body.limit.is_some() {
            field(options.counter.name().as_bytes());
            field(options.filter.name().as_bytes());
        }
        if !body.speech.is_all() {
            field(&[body.speech as u8]);
        }
    }
    match &piece.source {
        SentSource::Engine(text) => field(text.as_bytes()),
        SentSource::Turn { head, .. } | SentSource::Note { head, .. } => field(head.as_bytes()),
        SentSource::Messages { .. } => {}
        SentSource::Purged => field(b"purged"),
    }
    PieceKey(*hasher.finalize().as_bytes())
}
