//! What is looked at, and where its index is: what `check`, `index` and the verbs that ask an index have in common.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use dupi::blots::Blotting;
use dupi::index::{Index, MEMORY, MIN_MEMORY, Workspace};
use dupi::search::with_threads;
use dupi::store::{Folder, Memory};
use dupi::{Settings, manifest, place, regular};

use crate::options::{Options, root};
use crate::terminal::{self, with_progress};

/// How often a process looks for indexes that nobody uses any more: it looks at all there are, so a server that opens
/// many folders does not do it for each.
const COLLECT_INTERVAL: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub struct WorkspaceArguments {
    /// Files and folders to read [default: the current folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    options: Options,
    /// Do not read dupi.toml
    #[arg(long)]
    no_config: bool,
}

impl WorkspaceArguments {
    pub fn workspace(&self) -> Result<Workspace> {
        self.read().map(|(workspace, _)| workspace)
    }

    /// Whether a flag, and not only the project, says how much may be new.
    pub fn has_max_new(&self) -> bool {
        self.options.max_new.is_some()
    }

    /// The same as if there were no `dupi.toml`.
    pub fn read_without_configuration(&self) -> Result<(Workspace, Options)> {
        read(&self.paths, &self.options, true)
    }

    /// The workspace, and the options that made it what it is.
    pub fn read(&self) -> Result<(Workspace, Options)> {
        read(&self.paths, &self.options, self.no_config)
    }
}

fn read(paths: &[PathBuf], options: &Options, no_config: bool) -> Result<(Workspace, Options)> {
    let paths = if paths.is_empty() { vec![PathBuf::from(".")] } else { paths.to_vec() };
    let root = root(&paths)?;
    // What is met on the way may be skipped with a reason; what is named must be there to be read.
    for path in &paths {
        let read = if path.is_dir() { path.read_dir().map(drop) } else { regular::open(path, u64::MAX).map(drop) };
        read.with_context(|| format!("cannot read {}", path.display()))?;
    }
    let project = if no_config { Options::default() } else { Options::read(&root)? };
    let options = options.clone().or(project);
    let settings = options.settings_in(&root)?;
    let paths = paths.iter().map(|path| path.canonicalize()).collect::<std::io::Result<_>>()?;
    Ok((Workspace { root, paths, settings }, options))
}

/// The windows of an index of its own, to explore with. Not for a check, whose answer must not depend on them.
#[derive(clap::Args)]
pub struct WindowArguments {
    /// Tokens in a window, of which a blot is the fingerprint; with --w it makes an index of its own [default: 28]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    k: Option<u16>,
    /// Windows in a row of which one blot is kept [default: 23]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    w: Option<u16>,
}

impl WindowArguments {
    pub fn apply(&self, settings: &mut Settings) {
        if self.k.is_some() || self.w.is_some() {
            let Blotting { k, w, .. } = Blotting::of(settings);
            settings.windows = Some((self.k.map_or(k, usize::from), self.w.map_or(w, usize::from)));
        }
    }
}

/// What verbs have in common that ask the index a question.
#[derive(clap::Args)]
pub struct QueryArguments {
    /// Files and folders that are asked about [default: the current folder]
    #[arg(long = "in", value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Ask the index as it is, without a look at which files changed
    #[arg(long)]
    no_refresh: bool,
    #[command(flatten)]
    windows: WindowArguments,
    #[command(flatten)]
    options: Options,
    /// Do not read dupi.toml
    #[arg(long)]
    no_config: bool,
    #[command(flatten)]
    index: IndexArguments,
}

impl QueryArguments {
    pub fn workspace(&self) -> Result<Workspace> {
        let (mut workspace, _) = read(&self.paths, &self.options, self.no_config)?;
        self.windows.apply(&mut workspace.settings);
        Ok(workspace)
    }

    /// Asks the index, brought up to date as a check does it. What can wait is done after the answer.
    pub fn ask<T: Send>(
        &self,
        workspace: &Workspace,
        question: impl FnOnce(&mut Index) -> Result<T> + Send,
    ) -> Result<T> {
        let Workspace { root, settings, .. } = workspace;
        let place = self.index.place(workspace)?;
        if self.no_refresh {
            if !place.exists() {
                bail!("no index of {} at {}: leave out `--no-refresh`", root.display(), place.folder.display());
            }
            return with_threads(settings, root, || question(&mut place.look(workspace)?))?;
        }
        let mut index = with_progress(|progress| {
            with_threads(settings, root, || {
                let mut index = place.open(workspace).unwrap_or_else(|error| {
                    terminal::note(&format!("the index is made for this once: {error:#}"));
                    Index::open(Arc::new(Memory::default()), workspace.clone(), place.memory)
                });
                index.refresh(progress)?;
                anyhow::Ok(index)
            })
        })??;
        tell_troubles(&mut index);
        if index.snapshot().n_documents() == 0 {
            bail!("nothing indexed: no source file under {}", root.display());
        }
        with_threads(settings, root, || {
            let answer = question(&mut index);
            place.tidy(&mut index);
            tell_troubles(&mut index);
            answer
        })?
    }
}

/// Flags and no keys of `dupi.toml`: a project does not say where its users' files go, nor how much memory they give.
#[derive(clap::Args, Clone)]
pub struct IndexArguments {
    /// Keep the index in this folder, for example one that CI caches [default: the user's cache folder]
    #[arg(long, value_name = "DIR")]
    index_dir: Option<PathBuf>,
    /// Build the index within this much memory
    #[arg(long, value_name = "MIB", value_parser = mebibytes, default_value_t = Mebibytes(MEMORY >> 20))]
    memory: Mebibytes,
}

#[derive(Clone, Copy, Debug)]
struct Mebibytes(u64);

impl std::fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

fn mebibytes(text: &str) -> Result<Mebibytes, String> {
    const LEAST: u64 = MIN_MEMORY >> 20;
    match text.parse() {
        Ok(n) if n >= LEAST => Ok(Mebibytes(n)),
        Ok(_) => Err(format!("an index cannot be built in less than {LEAST} MiB")),
        Err(_) => Err("not a number of MiB".to_owned()),
    }
}

impl IndexArguments {
    /// The folder under which indexes are.
    pub fn base(&self) -> Result<PathBuf> {
        match &self.index_dir {
            Some(folder) => std::path::absolute(folder).context("`--index-dir` names no folder"),
            None => {
                place::default_folder().ok_or_else(|| anyhow!("no cache folder is known: name one by `--index-dir`"))
            }
        }
    }

    pub fn place(&self, workspace: &Workspace) -> Result<Place> {
        let base = self.base()?;
        let folder = place::index_folder(&base, &workspace.root, workspace.profile());
        // A base within a checkout may hold what somebody else has put there.
        if let Some(link) = folder.ancestors().take(2).find(|folder| folder.is_symlink()) {
            bail!("{} is a link: an index is kept in a folder", link.display());
        }
        Ok(Place { base, folder, memory: self.memory.0.saturating_mul(1 << 20) })
    }

    /// As if they were given as flags.
    pub fn new(index_dir: Option<PathBuf>, mebibytes: u64) -> IndexArguments {
        IndexArguments { index_dir, memory: Mebibytes(mebibytes) }
    }
}

/// Where the index of a workspace is, or would be.
pub struct Place {
    base: PathBuf,
    pub folder: PathBuf,
    pub memory: u64,
}

impl Place {
    /// The bytes on disk.
    pub fn bytes(&self) -> std::io::Result<u64> {
        let entries = std::fs::read_dir(&self.folder)?.flatten();
        // A file that went in the meantime has no bytes.
        Ok(entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum())
    }

    pub fn exists(&self) -> bool {
        self.folder.join(manifest::NAME).is_file()
    }

    /// Opens the index to bring it up to date, and makes its folder if there is none.
    pub fn open(&self, workspace: &Workspace) -> Result<Index> {
        let store = Folder::create(&self.folder)?;
        Ok(Index::open(Arc::new(store), workspace.clone(), self.memory))
    }

    /// Opens the index only to look at it.
    pub fn look(&self, workspace: &Workspace) -> Result<Index> {
        let store = Folder::create(&self.folder)?;
        Ok(Index::look(Arc::new(store), workspace.clone()))
    }

    /// What can wait until the answer is given: merges, and removing what nobody uses any more.
    pub fn tidy(&self, index: &mut Index) {
        index.merge();
        if let Err(error) = self.keep(index) {
            terminal::note(&format!("the index will be taken for unused: {error}"));
        }
    }

    /// Marks the index as used, and removes those that nobody uses any more.
    pub fn keep(&self, index: &Index) -> std::io::Result<()> {
        static COLLECTED: Mutex<Option<Instant>> = Mutex::new(None);
        let touched = if index.is_writer() { place::touch(&self.folder) } else { Ok(()) };
        let mut collected = COLLECTED.lock().unwrap_or_else(PoisonError::into_inner);
        if collected.is_none_or(|last| last.elapsed() > COLLECT_INTERVAL) {
            place::collect(&self.base, &self.folder, SystemTime::now());
            *collected = Some(Instant::now());
        }
        touched
    }
}

/// Tells what went wrong with the index. It is never a reason for another answer.
pub fn tell_troubles(index: &mut Index) {
    index.troubles().iter().for_each(|trouble| terminal::note(trouble));
}

/// What to say if an index cannot be read even after a refresh.
pub fn unreadable(workspace: &Workspace) -> anyhow::Error {
    dupi::Error::Index { path: workspace.root.clone() }.into()
}
