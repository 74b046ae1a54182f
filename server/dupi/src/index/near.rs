//! The near copies of an index: found once, brought up to date with each change, kept beside the segments.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Index, MAX_ANSWER};
use crate::answer::Member;
use crate::clones::Library;
use crate::document::Document;
use crate::near::{self, Changed, Documents, Graph, Place, Stop, Table, View};
use crate::settings::Settings;
use crate::snapshot::{NearCopies, Snapshot};
use crate::{Class, Error};

/// The end of the names of the files with near copies.
pub const NEAR: &str = ".near";

/// If more than one document in so many changed, finding everything anew is as fast.
const MAX_SHARE_CHANGED: usize = 8;

/// About how much memory a decoded document takes for each of its tokens.
const BYTES_PER_TOKEN: u64 = 4;

/// The near copies among the documents of a snapshot without buffers.
pub(super) struct NearState {
    pub near: Arc<NearCopies>,
    /// Of the documents, in the order of their paths.
    identities: Vec<u64>,
    /// In which those documents are that went since then.
    snapshot: Arc<Snapshot>,
    /// Which state of the index it is of: see [`Index::n_changes`].
    pub n_changes: u64,
    is_kept: bool,
}

impl Index {
    /// Sees to it that the snapshot knows the near copies of its documents, if these settings want any, and if nobody
    /// stops it.
    pub fn bring_near(&mut self, settings: &Settings, stop: Stop) -> Result<(), Error> {
        self.bring_near_within(settings, self.memory / 8, stop).map(drop)
    }

    /// The same; gives all documents that are no buffers, in the order of their paths, if they had to be decoded and
    /// take no more memory than this.
    pub(super) fn bring_near_within(
        &mut self,
        settings: &Settings,
        memory: u64,
        stop: Stop,
    ) -> Result<Option<Vec<Arc<Document>>>, Error> {
        let Some(key) = near::key(settings) else { return Ok(None) };
        let is_current = |state: &NearState| state.near.key == key && state.n_changes == self.n_changes;
        if self.near.as_ref().is_some_and(is_current) {
            self.keep_near();
            return Ok(None);
        }
        let base = Arc::new(self.without_buffers());
        let members = base.members();
        let identities: Vec<u64> = members.iter().map(|member| member.identity).collect();
        let before = self.near.take().filter(|state| state.near.key == key).or_else(|| self.near_on_disk(key));
        let same = before.as_ref().filter(|state| state.identities == identities);
        let is_kept = same.is_some_and(|state| state.is_kept);
        let near = match same {
            Some(state) => Some((Arc::clone(&state.near), None)),
            None => base.while_whole(|| {
                let updated = before.as_ref().and_then(|before| updated(before, &base, &members));
                let updated = updated.map(|near| (Arc::new(near), None));
                updated.or_else(|| {
                    let (graph, documents) = found(&base, &members, settings, memory, stop)?;
                    Some((Arc::new(NearCopies { key, graph: Arc::new(graph), table: None }), documents))
                })
            }),
        };
        if near.is_none() && stop() {
            self.renew_snapshot();
            return Ok(None);
        }
        let (near, documents) = near.ok_or_else(|| Error::Index { path: self.workspace.root.clone() })?;
        self.near = Some(NearState { near, identities, snapshot: base, n_changes: self.n_changes, is_kept });
        self.renew_snapshot();
        self.keep_near();
        Ok(documents)
    }

    /// Makes what the near copies of an edited text are found fast with, in memory, unless it takes too much of it or
    /// somebody stops it. The answers are the same without it.
    pub fn prepare_for_edits(&mut self, stop: Stop) {
        let Some(state) = self.near.as_ref().filter(|state| state.n_changes == self.n_changes) else { return };
        let n_tokens = state.snapshot.n_tokens();
        if state.near.table.is_some() || Table::weight_of(n_tokens) > self.memory / 2 {
            return;
        }
        let base = &state.snapshot;
        let table = base.while_whole(|| {
            let read = |i: u32| base.document(base.number_of(state.identities[i as usize])?);
            Table::new(usize::try_from(n_tokens).ok()?, &state.identities, read, stop)
        });
        let NearCopies { key, graph, .. } = &*state.near;
        let near = Arc::new(NearCopies { key: *key, graph: Arc::clone(graph), table });
        self.near.iter_mut().for_each(|state| state.near = Arc::clone(&near));
        self.renew_snapshot();
    }

    /// Takes the near copies that are on disk, if they are those of the current documents. Finds nothing anew.
    pub fn recall_near(&mut self, settings: &Settings) {
        let Some(state) = near::key(settings).and_then(|key| self.near_on_disk(key)) else { return };
        let members = state.snapshot.members();
        if members.iter().map(|member| member.identity).eq(state.identities.iter().copied()) {
            self.near = Some(state);
            self.renew_snapshot();
        }
    }

    fn without_buffers(&self) -> Snapshot {
        Snapshot::new(self.parts.clone(), Vec::new(), &[], Arc::clone(&self.cache))
    }

    fn near_on_disk(&self, key: u64) -> Option<NearState> {
        let bytes = self.store.read(&near_name(key), MAX_ANSWER).ok()?;
        let near::Kept { identities, graph } = near::read(&bytes, key)?;
        let snapshot = self.opened.clone().unwrap_or_else(|| Arc::new(self.without_buffers()));
        let near = Arc::new(NearCopies { key, graph: Arc::new(graph), table: None });
        Some(NearState { near, identities, snapshot, n_changes: self.n_changes, is_kept: true })
    }

    /// Writes the near copies, if they are of the state that is on disk and not there yet.
    fn keep_near(&mut self) {
        let may_keep = self.is_writer() && self.committed;
        let Some(state) = self.near.as_ref().filter(|state| may_keep && !state.is_kept) else { return };
        let key = state.near.key;
        let bytes = near::write(&state.near.graph, &state.identities, key);
        let name = near_name(key);
        match bytes.and_then(|bytes| self.write_whole(&name, &bytes)).and_then(|()| self.drop_others(&name, NEAR)) {
            Ok(()) => self.near.iter_mut().for_each(|state| state.is_kept = true),
            Err(error) => self.trouble("near copies are not kept", &error),
        }
    }

    /// The near copies among the members of the current snapshot, buffers among them.
    pub(super) fn near_classes(&self, members: &[Member], settings: &Settings) -> Option<Vec<Class>> {
        if near::key(settings).is_none() {
            return Some(Vec::new());
        }
        self.snapshot.while_whole(|| {
            let graph = self.snapshot.near(settings)?;
            let numbers = members.iter().zip(0..).map(|(member, i)| (member.identity, (i, member.number))).collect();
            let documents = Members { numbers, snapshot: &self.snapshot };
            View::new(graph, settings).classes(&documents)
        })
    }
}

/// Members of an answer: their places in the list, and their numbers in the snapshot, by their identities.
struct Members<'a> {
    numbers: HashMap<u64, (u32, u32)>,
    snapshot: &'a Snapshot,
}

impl Documents for Members<'_> {
    fn number(&self, identity: u64) -> Option<u32> {
        self.numbers.get(&identity).map(|(place, _)| *place)
    }

    fn document(&self, place: &Place) -> Option<Arc<Document>> {
        let prepared = self.snapshot.prepared(self.numbers.get(&place.document)?.1)?;
        Some(Arc::clone(&prepared.document))
    }
}

fn near_name(key: u64) -> String {
    format!("{key:016x}{NEAR}")
}

/// All near copies of these documents, and the documents if they may all be in memory. Nothing, if one cannot be read.
fn found(
    base: &Snapshot,
    members: &[Member],
    settings: &Settings,
    memory: u64,
    stop: Stop,
) -> Option<(Graph, Option<Vec<Arc<Document>>>)> {
    let n_tokens = base.n_tokens();
    if n_tokens * BYTES_PER_TOKEN > memory {
        let identities: Vec<u64> = members.iter().map(|member| member.identity).collect();
        let read = |i: u32| base.document(members[i as usize].number);
        let read_again = |i: u32| base.prepared(members[i as usize].number).map(|prepared| prepared.document.clone());
        let n_tokens = usize::try_from(n_tokens).ok()?;
        let graph = Graph::find_one_by_one(n_tokens, &identities, settings.min_similarity, read, read_again, stop)?;
        return Some((graph, None));
    }
    let numbers: Vec<u32> = members.iter().map(|member| member.number).collect();
    let (documents, identities): (Vec<Arc<Document>>, Vec<u64>) = crate::clones::decode(&numbers, base)?
        .into_iter()
        .map(|(number, document)| (document, base.identity(number)))
        .unzip();
    let graph = Graph::find_among(&documents, &identities, settings.min_similarity, None, stop)?;
    Some((graph, Some(documents)))
}

/// The near copies by what changed. Nothing, if that is not possible.
fn updated(before: &NearState, base: &Snapshot, members: &[Member]) -> Option<NearCopies> {
    let known: HashSet<u64> = before.identities.iter().copied().collect();
    let current: HashSet<u64> = members.iter().map(|member| member.identity).collect();
    let new: Vec<&Member> = members.iter().filter(|member| !known.contains(&member.identity)).collect();
    let gone: Vec<u64> = before.identities.iter().copied().filter(|identity| !current.contains(identity)).collect();
    if (new.len() + gone.len()) * MAX_SHARE_CHANGED > members.len().max(known.len()).max(64) {
        return None;
    }
    before.snapshot.while_whole(|| {
        let went = gone.iter().map(|&identity| {
            let document = before.snapshot.prepared(before.snapshot.number_of(identity)?)?;
            Some(Changed { identity, document })
        });
        let went: Vec<Changed> = went.collect::<Option<_>>()?;
        let came = new
            .iter()
            .map(|member| Some(Changed { identity: member.identity, document: base.prepared(member.number)? }));
        let came: Vec<Changed> = came.collect::<Option<_>>()?;
        let table = before.near.table.as_ref();
        let graph = before.near.graph.updated(&went, &came, base, table)?;
        let table = table.and_then(|table| table.updated(&went, &came));
        Some(NearCopies { key: before.near.key, graph: Arc::new(graph), table })
    })
}
