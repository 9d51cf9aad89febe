//! What a Markdown window says beside its pages: anchors, the live end, and the Context around it.

use std::collections::BTreeMap;

use super::{identity::Identity, lowered::Lowered, prepare::Prepared};
use crate::{
    Error, Format, Level, Operation, PageIndex, Reader, Result, Revision, Timestamp, Tokens,
    WindowOptions,
    context::{
        Anchor, AnchorKey, Anchors, Changes, Context, History, LevelState, MountedPanels,
        PageAction, RenderKey, Round, Shown, Source, build, find_anchor, reference_key,
    },
    message::RawJson,
    permission,
    storage::{HistoryQuery, PageRunForm},
    system::derived_cache::{Countable, Scale},
    window::{
        line::Style,
        outline::{Outline, Shape},
        piece::Mark,
        plan::{Item, Plan},
        source::{Family, line_weight, piece_overhead},
    },
};

/// A window as the source of a Context: everything but its content is known before.
struct WindowSource<'a> {
    app_id: &'a str,
    session_id: &'a str,
    identity: &'a Identity,
    timestamp: Timestamp,
    shown: Shown,
}

impl Source for WindowSource<'_> {
    fn app_id(&self) -> &str {
        self.app_id
    }

    fn session_id(&self) -> &str {
        self.session_id
    }

    fn changes(&self) -> Changes {
        Changes::counted(self.identity.version.major())
    }

    fn changed_at(&self) -> Timestamp {
        self.timestamp
    }

    fn show(&self, _: Level) -> Result<Shown> {
        Ok(self.shown.clone())
    }

    fn key(&self, _: &LevelState, _: Option<&History>) -> RenderKey {
        self.identity.key.clone()
    }
}

/// A Context but for its content.
struct Around<'a> {
    source: WindowSource<'a>,
    levels: LevelState,
    history: Option<&'a History>,
}

impl Around<'_> {
    fn with(&mut self, content: String) -> Context {
        self.source.shown.content = content;
        build(&self.source, &self.levels, self.history)
    }
}

/// What the live end of a window is made from.
pub(super) struct Live<'a> {
    pub(super) outline: &'a Outline,
    pub(super) plan: &'a Plan,
    pub(super) focus: Option<&'a PageIndex>,
    pub(super) panels: &'a MountedPanels,
    /// The turn that is to be answered, where it is not the last.
    pub(super) open: Option<&'a PageIndex>,
    pub(super) style: Style<'a>,
}

impl Reader<'_> {
    /// Returns what can be pressed, and the live end of the window with what each part takes.
    pub(super) async fn live(
        &self,
        scale: &Scale<'_>,
        live: &Live<'_>,
    ) -> Result<(Anchors, Vec<(String, Tokens)>)> {
        let family = scale.family;
        let (anchors, texts) = match family {
            Family::Markdown => {
                let anchors = self.anchors(live);
                let texts = markdown_tail(live, &anchors);
                (anchors, texts)
            }
            Family::Provider => (Anchors::default(), provider_tail(live)),
        };
        let lines: Vec<Countable> =
            texts.iter().map(|text| Countable::Line(text.as_str().into())).collect();
        let counts = self.system.count(scale, &lines).await?;
        let weigh =
            |(text, counted)| (text, Tokens(line_weight(family, counted) + piece_overhead(family)));
        Ok((anchors, texts.into_iter().zip(counts).map(weigh).collect()))
    }

    /// Registers what the view may do with the pages that stand in the window.
    fn anchors(&self, live: &Live<'_>) -> Anchors {
        let mut anchors = Anchors::default();
        for item in &live.plan.items {
            self.register(item, live.outline, &mut anchors);
        }
        // What is focused is pointed at also where it is folded away.
        if let Some(focus) = live.focus {
            let _ = anchors.register(reference_key(focus), Anchor::reference());
        }
        let (key, find) = find_anchor();
        // The first of two stands, and the Context tells of the other.
        let _ = anchors.register(key, find);
        anchors.append(live.panels.anchors.clone());
        anchors
    }

    fn register(&self, item: &Item, outline: &Outline, anchors: &mut Anchors) {
        let shape = match &item.block.shape {
            Shape::Page(shape) => shape,
            Shape::Run(run) => {
                // Its line marks the first page of it, and its requests mark theirs.
                let requests = run.requests.iter().map(|request| &request.page);
                let line = (run.form != PageRunForm::Out).then_some(&run.from);
                for page in requests.chain(line) {
                    let _ = anchors.register(reference_key(page), Anchor::reference());
                }
                return;
            }
        };
        let page = &item.block.page;
        let segment = &outline.sections[item.section].segment;
        let _ = anchors.register(reference_key(&page.index), Anchor::reference());
        // As the page stands in the view, which is what pressing changes: the level a window was
        // asked for at is no state of it.
        let full = item.system || shape.level == Level::Full;
        let root = page.index.is_root();
        let hides = full && !root && !segment.stands_in_full();
        let actions = [
            (PageAction::Expand, Operation::ExpandDetails, !full),
            (PageAction::Hide, Operation::HideDetails, hides),
            (PageAction::Update, Operation::UpdatePage, !root),
            (PageAction::Move, Operation::MovePage, !root),
            (PageAction::Create, Operation::CreatePage, page.is_contents()),
        ];
        for (action, operation, fits) in actions {
            let allowed = self.guard.is_none()
                || permission::check_page(self.guard, segment, &page.index, operation).is_ok();
            let segments = outline.sections.iter().map(|section| &section.segment.id);
            if fits && allowed && action.is_offered(&segment.id, segments) {
                let anchor = match action {
                    // A directory has no text of its own.
                    PageAction::Update if page.is_contents() => renaming(&page.index),
                    _ => action.anchor(&page.index),
                };
                let _ = anchors.register(action.key(&page.index), anchor);
            }
        }
    }

    /// Returns the Context around the content, with a hole where the content goes.
    pub(super) async fn frame(&self, prepared: &Prepared) -> Result<String> {
        let mut around = self.around(prepared).await?;
        // The hole is named after all that stands around it, which nobody can have written into it.
        let empty = around.with(String::new()).to_json();
        let hole = blake3::hash(empty.as_bytes()).to_hex().to_string();
        let context = around.with(hole.clone()).to_json();
        let (before, after) = context.split_once(&format!("\"{hole}\"")).ok_or_else(|| {
            let reason = "the content has no place in it".to_owned();
            Error::InvalidRendering { format: "context", reason }
        })?;
        Ok(format!("{}\n{before}{after}", before.len()))
    }

    /// Returns the whole Context as a value.
    pub(super) async fn whole_context(
        &self,
        options: &WindowOptions,
        prepared: &Prepared,
    ) -> Result<Context> {
        let mut around = self.around(prepared).await?;
        let content = WindowOptions { format: Format::Markdown, ..options.clone() };
        let content = self.render(&content, prepared).await?.body;
        Ok(around.with(content))
    }

    /// Returns what a Context is built from, but for its content.
    async fn around<'a>(&'a self, prepared: &'a Prepared) -> Result<Around<'a>> {
        let system = self.system;
        let identity = &prepared.identity;
        let mut custom: BTreeMap<String, RawJson> = BTreeMap::new();
        for (key, value) in &prepared.custom {
            if !key.is_own() {
                custom.insert(key.as_str().to_owned(), RawJson::of_text(value));
            }
        }
        custom.extend(identity.panels.custom.clone());
        let lowered = Lowered::of(&prepared.plan);
        let level = lowered.level.map_or(identity.level, |level| level.min(identity.level));
        let mut diagnostics = identity.panels.diagnostics.clone();
        diagnostics.extend(lowered.diagnostics);
        let anchors = prepared.anchors.clone();
        let focus = prepared.focus.as_ref().map(ToString::to_string);
        Ok(Around {
            source: WindowSource {
                app_id: system.app(),
                session_id: system.session().as_str(),
                identity,
                timestamp: self.time_of(identity.state).await?,
                shown: Shown { level, content: String::new(), anchors, custom, diagnostics },
            },
            levels: LevelState::counted(identity.level, focus, identity.version.minor()),
            history: identity.history.as_ref(),
        })
    }

    pub(super) async fn rounds(&self) -> Result<History> {
        let entries = self.history(None, History::SHOWN).await?;
        let rounds = entries.items.into_iter().map(|entry| {
            let (action, result) = entry.round().unwrap_or_else(|| {
                let pages: Vec<String> = entry.pages.iter().map(ToString::to_string).collect();
                (entry.operation.to_string(), pages.join(" "))
            });
            Round { round: entry.revision.0, action, result, timestamp: entry.at }
        });
        Ok(History::latest(rounds.collect(), History::SHOWN))
    }

    /// Returns when the state that is shown came about.
    pub(super) async fn time_of(&self, state: Revision) -> Result<Timestamp> {
        let system = self.system;
        let before = Some(Revision(state.0 + 1));
        let query = HistoryQuery { before, limit: 1, ..HistoryQuery::default() };
        let entry = system.storage().history(system.session(), &query).await?.pop();
        Ok(entry.map_or(system.created_at(), |entry| entry.at))
    }
}

/// Returns the form that changes a directory's name and description.
fn renaming(page: &PageIndex) -> Anchor {
    let target = page.to_string();
    Anchor::form(Some(&target), &["name", "description"]).expect("the names follow the grammar")
}

/// Returns the end of a Markdown window: what is live, and so stands behind everything else.
fn markdown_tail(live: &Live<'_>, anchors: &Anchors) -> Vec<String> {
    let focus = live.focus;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(focus.map(|focus| format!("Focus: [ref:{focus}]")));
    let form = |key: &AnchorKey| {
        let acts = anchors.get(key.as_str()).is_some_and(Anchor::is_executable);
        anchors.text(key.as_str()).filter(|_| acts)
    };
    let mut forms: Vec<String> = anchors.text("find").into_iter().collect();
    for action in [PageAction::Update, PageAction::Move, PageAction::Create] {
        let key = focus.map(|focus| action.key(focus));
        forms.extend(key.and_then(|key| form(&key)));
    }
    for section in live.outline.sections.iter().filter(|section| !section.is_system()) {
        let key = PageAction::Create.key(&section.segment.root());
        if focus != Some(&section.segment.root()) {
            forms.extend(form(&key));
        }
    }
    lines.push(format!("Actions: {}", forms.join(" ")));
    let mut texts = vec![format!("---\n{}", lines.join("\n"))];
    if !live.panels.text.is_empty() {
        texts.push(live.panels.text.trim_end().to_owned());
    }
    texts
}

/// Returns the end of a provider's window: the panels, each line with the mark, and what is to be
/// answered.
fn provider_tail(live: &Live<'_>) -> Vec<String> {
    let tag = live.style.mark.map(Mark::tag).unwrap_or_default();
    let lines = live.panels.text.lines().map(|line| format!("{tag} {line}"));
    let panels = lines.collect::<Vec<_>>().join("\n");
    let open = live.open.map(|turn| live.style.open_request(turn));
    [panels].into_iter().filter(|text| !text.is_empty()).chain(open).collect()
}

/// Puts the content into the frame of a Context.
pub(super) fn fill(frame: &str, content: &str) -> Result<String> {
    let parts = frame.split_once('\n').and_then(|(length, rest)| {
        let length: usize = length.parse().ok()?;
        rest.split_at_checked(length)
    });
    let Some((before, after)) = parts else {
        let reason = "the frame it was recorded with cannot be read".to_owned();
        return Err(Error::InvalidRendering { format: "context", reason });
    };
    let content = serde_json::to_string(content).expect("a string is always JSON");
    Ok(format!("{before}{content}{after}"))
}
