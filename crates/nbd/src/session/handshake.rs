//! The options of a client, and the answers to them.

use crate::export::{self, Context, Export};
use crate::wire::buffer::Buffer;
use crate::wire::options::{self, Data, Fact, Head, Kind, NAME_BYTES_MAX, ReplyKind};
use crate::wire::replies::Style;

/// Whether a connection is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// It cannot be.
    Impossible,
    /// The client must ask for it first.
    Required,
    /// It is.
    Done,
}

/// What client and server agreed on.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Whether zeroes follow the reply to EXPORT_NAME.
    pub has_zeroes: bool,
    /// The form of replies.
    pub style: Style,
    /// The contexts of the export.
    pub contexts: Vec<Context>,
    /// The export for which they were chosen.
    pub contexts_of: Option<usize>,
}

impl Default for Agreed {
    fn default() -> Agreed {
        Agreed { has_zeroes: true, style: Style::Simple, contexts: Vec::new(), contexts_of: None }
    }
}

/// What comes after an option.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Another option.
    Option,
    /// Requests for an export.
    Requests(usize),
    /// Encryption.
    StartTls,
    /// Nothing, for this reason.
    HangUp(&'static str),
}

/// Replies to one option.
struct Replies<'a> {
    option: u32,
    out: &'a mut Buffer,
}

impl Replies<'_> {
    /// Refuses the option with a sentence.
    fn refuse(&mut self, kind: ReplyKind, why: &str) -> Next {
        options::reply(self.out, self.option, kind, why.as_bytes());
        Next::Option
    }

    fn invalid(&mut self, why: &str) -> Next {
        self.refuse(ReplyKind::Invalid, why)
    }

    fn acknowledge(&mut self) -> Next {
        options::reply(self.out, self.option, ReplyKind::Ack, &[]);
        Next::Option
    }

    fn fact(&mut self, fact: Fact, data: &[u8]) {
        options::fact(self.out, self.option, fact, data);
    }

    fn context(&mut self, id: u32, context: Context) {
        let data = [&id.to_be_bytes(), context.name().as_bytes()].concat();
        options::reply(self.out, self.option, ReplyKind::MetaContext, &data);
    }
}

impl Agreed {
    /// Answers an option.
    pub(super) fn take_option(
        &mut self,
        head: Head,
        data: &[u8],
        exports: &[Export],
        encryption: &mut Encryption,
        out: &mut Buffer,
    ) -> Next {
        let mut replies = Replies { option: head.number, out };
        let kind = head.kind();
        if *encryption == Encryption::Required && !matches!(kind, Kind::StartTls | Kind::Abort) {
            return match kind {
                Kind::ExportName => Next::HangUp("the client did not ask for encryption"),
                _ => replies.refuse(ReplyKind::TlsRequired, "ask for encryption first"),
            };
        }
        match kind {
            Kind::ExportName => self.export_name(data, exports, replies.out),
            Kind::Abort => {
                replies.acknowledge();
                Next::HangUp("")
            }
            Kind::List => list(data, exports, &mut replies),
            Kind::StartTls => start_tls(data, *encryption, &mut replies),
            Kind::Info => self.info(data, exports, &mut replies).err().unwrap_or_else(|| {
                replies.acknowledge();
                Next::Option
            }),
            Kind::Go => match self.info(data, exports, &mut replies) {
                Ok(export) => {
                    replies.acknowledge();
                    self.begin(export)
                }
                Err(next) => next,
            },
            Kind::StructuredReply if !data.is_empty() => replies.invalid("this option has no data"),
            Kind::StructuredReply => {
                self.style = Style::Structured;
                replies.acknowledge()
            }
            Kind::ListMetaContext => self.list_contexts(data, exports, &mut replies),
            Kind::SetMetaContext => self.set_contexts(data, exports, &mut replies),
            Kind::Unknown(_) => replies.refuse(ReplyKind::Unsupported, "this option is unknown"),
        }
    }

    /// The end of the options. Contexts hold only for the export for which they were chosen.
    fn begin(&mut self, export: usize) -> Next {
        if self.contexts_of != Some(export) {
            self.contexts.clear();
        }
        Next::Requests(export)
    }

    /// The old way to begin. It knows no refusal.
    fn export_name(&mut self, data: &[u8], exports: &[Export], out: &mut Buffer) -> Next {
        let name = std::str::from_utf8(data).ok().filter(|name| name.len() <= NAME_BYTES_MAX);
        match name.and_then(|name| export::find(exports, name)) {
            Some(found) if exports[found].is_on => {
                let (bytes, flags) = (exports[found].bytes, exports[found].flags(self.style));
                options::export_name(out, bytes, flags, self.has_zeroes);
                self.begin(found)
            }
            Some(_) => Next::HangUp("the export has no power"),
            None => Next::HangUp("the client asked for an unknown export"),
        }
    }

    /// Sends the facts about an export. Returns the export, or what comes after a refusal.
    fn info(&self, data: &[u8], exports: &[Export], replies: &mut Replies) -> Result<usize, Next> {
        let Some((name, wanted)) = wanted_facts(data) else {
            return Err(replies.invalid("the data are not a name and a list of facts"));
        };
        let found = find(exports, name, replies)?;
        let export = &exports[found];
        if !export.is_on {
            return Err(replies.refuse(ReplyKind::Shutdown, "the export has no power"));
        }
        let size =
            [&export.bytes.to_be_bytes()[..], &export.flags(self.style).to_be_bytes()].concat();
        replies.fact(Fact::Export, &size);
        if wanted.contains(&(Fact::Name as u16)) {
            replies.fact(Fact::Name, export.name.as_bytes());
        }
        if wanted.contains(&(Fact::Description as u16)) {
            replies.fact(Fact::Description, export.description.as_bytes());
        }
        let sizes = export.block_sizes().map(u32::to_be_bytes).concat();
        replies.fact(Fact::BlockSize, &sizes);
        Ok(found)
    }

    fn list_contexts(&self, data: &[u8], exports: &[Export], replies: &mut Replies) -> Next {
        let (_, queries) = match self.queries(data, exports, replies) {
            Ok(found) => found,
            Err(next) => return next,
        };
        for context in Context::ALL {
            let is_wanted = |query: &&str| match query.strip_suffix(':') {
                Some(space) => context.name().split(':').next() == Some(space),
                None => *query == context.name(),
            };
            if queries.is_empty() || queries.iter().any(is_wanted) {
                replies.context(0, context);
            }
        }
        replies.acknowledge()
    }

    fn set_contexts(&mut self, data: &[u8], exports: &[Export], replies: &mut Replies) -> Next {
        // The earlier choice ends even if this one is refused.
        self.contexts.clear();
        self.contexts_of = None;
        let (export, queries) = match self.queries(data, exports, replies) {
            Ok(found) => found,
            Err(next) => return next,
        };
        let chosen = Context::ALL.into_iter().filter(|it| queries.contains(&it.name()));
        self.contexts = chosen.collect();
        self.contexts_of = Some(export);
        for context in &self.contexts {
            replies.context(context.id(), *context);
        }
        replies.acknowledge()
    }

    /// The export and the names of contexts in an option, or what comes after a refusal.
    fn queries<'a>(
        &self,
        data: &'a [u8],
        exports: &[Export],
        replies: &mut Replies,
    ) -> Result<(usize, Vec<&'a str>), Next> {
        if self.style != Style::Structured {
            return Err(replies.invalid("ask for structured replies first"));
        }
        let Some((name, queries)) = names(data) else {
            return Err(replies.invalid("the data are not a name and a list of contexts"));
        };
        Ok((find(exports, name, replies)?, queries))
    }
}

fn find(exports: &[Export], name: &str, replies: &mut Replies) -> Result<usize, Next> {
    let unknown = || replies.refuse(ReplyKind::UnknownExport, "there is no such export");
    export::find(exports, name).ok_or_else(unknown)
}

fn list(data: &[u8], exports: &[Export], replies: &mut Replies) -> Next {
    if !data.is_empty() {
        return replies.invalid("this option has no data");
    }
    for export in exports {
        let name = export.name.as_bytes();
        let entry = [&(name.len() as u32).to_be_bytes(), name, export.description.as_bytes()];
        options::reply(replies.out, replies.option, ReplyKind::Server, &entry.concat());
    }
    replies.acknowledge()
}

fn start_tls(data: &[u8], encryption: Encryption, replies: &mut Replies) -> Next {
    match encryption {
        _ if !data.is_empty() => replies.invalid("this option has no data"),
        Encryption::Impossible => {
            replies.refuse(ReplyKind::Unsupported, "this server has no certificate")
        }
        Encryption::Done => replies.invalid("the connection is encrypted already"),
        Encryption::Required => {
            replies.acknowledge();
            Next::StartTls
        }
    }
}

/// A name of an export, and the facts that are wanted.
fn wanted_facts(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut data = Data(data);
    let name = data.text()?;
    let count = data.u16()?;
    let wanted = (0..count).map(|_| data.u16()).collect::<Option<_>>()?;
    data.0.is_empty().then_some((name, wanted))
}

/// A name of an export, and names of contexts.
fn names(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut data = Data(data);
    let name = data.text()?;
    let count = data.u32()?;
    // Each name takes at least its length. A false count allocates nothing.
    let names = (0..count).map(|_| data.text()).collect::<Option<_>>()?;
    data.0.is_empty().then_some((name, names))
}
