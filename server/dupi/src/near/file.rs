//! The graph of near copies on disk.
//!
//! ```text
//! file:  the frame of `bytes.rs`, its key a fingerprint of what the graph depends on
//! body:  min_similarity f64
//!        n  n × identity u64 of the documents, in the order of their paths
//!        n  and of the n words, by their hashes, one column after the other:
//!        hash u64 · id u64 · tokens · sort and whether it is flat u8 · control statements · places · edges to later words
//!        of each place: document's number · start · first line · lines · 1 if in a test, 2 if generated
//!        of each edge: words between the two · tokens of the longer one that do not correspond
//! numbers without a size are LEB128
//! ```

use std::collections::HashMap;
use std::io;

use super::bodies::{MAX_TOKENS, Sort, Word};
use super::graph::{Edge, Graph, Node, Place};
use crate::bytes::{Frame, Reader, put};

/// 1: the first.
const FRAME: Frame = Frame { magic: b"dupinear", version: 1 };
/// It is written after each change, so fast.
const LEVEL: i32 = 3;

const MONOTONOUS: u8 = 8;
const TEST: u64 = 1;
const GENERATED: u64 = 2;

/// A graph, and the documents that it is of, in the order of their paths.
pub struct Kept {
    pub identities: Vec<u64>,
    pub graph: Graph,
}

pub fn write(graph: &Graph, identities: &[u64], key: u64) -> io::Result<Vec<u8>> {
    let nodes: Vec<&Node> = graph.sorted().into_values().collect();
    let numbers: HashMap<u64, usize> = nodes.iter().map(|node| node.word.hash).zip(0..).collect();
    let documents: HashMap<u64, u64> = identities.iter().copied().zip(0..).collect();
    let mut body = Vec::new();
    body.extend(graph.min_similarity.to_le_bytes());
    put(&mut body, identities.len() as u64);
    identities.iter().for_each(|identity| body.extend(identity.to_le_bytes()));
    put(&mut body, nodes.len() as u64);
    nodes.iter().for_each(|node| body.extend(node.word.hash.to_le_bytes()));
    nodes.iter().for_each(|node| body.extend(node.id.to_le_bytes()));
    nodes.iter().for_each(|node| put(&mut body, u64::from(node.word.tokens)));
    nodes
        .iter()
        .for_each(|node| body.push(node.word.sort as u8 | if node.word.is_monotonous { MONOTONOUS } else { 0 }));
    nodes.iter().for_each(|node| put(&mut body, u64::from(node.word.control)));
    nodes.iter().for_each(|node| put(&mut body, node.places.len() as u64));
    let later = |node: &&Node| node.edges.iter().filter(|edge| edge.other > node.word.hash).count() as u64;
    nodes.iter().for_each(|node| put(&mut body, later(node)));
    let places = || nodes.iter().flat_map(|node| &node.places);
    for place in places() {
        let number = documents.get(&place.document).copied();
        put(&mut body, number.ok_or(io::ErrorKind::InvalidData)?);
    }
    places().for_each(|place| put(&mut body, u64::from(place.start)));
    places().for_each(|place| put(&mut body, u64::from(place.first_line)));
    places().for_each(|place| put(&mut body, u64::from(place.end_line - place.first_line)));
    for place in places() {
        put(&mut body, (u64::from(place.is_test) * TEST) | (u64::from(place.is_generated) * GENERATED));
    }
    for (i, node) in nodes.iter().enumerate() {
        for edge in node.edges.iter().filter(|edge| edge.other > node.word.hash) {
            let other = *numbers.get(&edge.other).ok_or(io::ErrorKind::InvalidData)?;
            let longer = node.word.tokens.max(nodes[other].word.tokens);
            put(&mut body, (other - i) as u64);
            put(&mut body, u64::from(longer - edge.common));
        }
    }
    FRAME.wrap(key, &body, LEVEL)
}

/// Nothing, unless these bytes are a graph of this version with this key.
pub fn read(bytes: &[u8], key: u64) -> Option<Kept> {
    let (found, body) = FRAME.open(bytes)?;
    if found != key {
        return None;
    }
    let body = zstd::stream::decode_all(body).ok()?;
    let reader = &mut Reader::new(&body);
    let min_similarity = f64::from_bits(reader.u64()?);
    let n = reader.count(8)?;
    let identities = (0..n).map(|_| reader.u64()).collect::<Option<Vec<u64>>>()?;
    let n = reader.count(22)?;
    let hashes = column(reader, n, Reader::u64)?;
    if !hashes.is_sorted_by(|a, b| a < b) {
        return None;
    }
    let ids = column(reader, n, Reader::u64)?;
    let tokens = column(reader, n, Reader::number)?;
    let sorts = column(reader, n, |reader| reader.u8().map(u64::from))?;
    let control = column(reader, n, Reader::number)?;
    let n_places = column(reader, n, Reader::number)?;
    let n_edges = column(reader, n, Reader::number)?;
    let mut nodes = Vec::with_capacity(n);
    for i in 0..n {
        let sort = *Sort::ALL.get(usize::from(sorts[i] as u8 & !MONOTONOUS))?;
        let tokens = u32::try_from(tokens[i]).ok().filter(|&tokens| tokens <= MAX_TOKENS)?;
        let is_monotonous = sorts[i] as u8 & MONOTONOUS != 0;
        let word = Word { hash: hashes[i], tokens, sort, control: u16::try_from(control[i]).ok()?, is_monotonous };
        nodes.push(Node { word, id: ids[i], places: Vec::new(), edges: Vec::new() });
    }
    let total = n_places.iter().try_fold(0usize, |sum, &n| sum.checked_add(usize::try_from(n).ok()?))?;
    let mut columns = [(); 5].map(|()| Vec::new().into_iter());
    for of_places in &mut columns {
        *of_places = column(reader, total, Reader::number)?.into_iter();
    }
    for (node, &n) in nodes.iter_mut().zip(&n_places) {
        for _ in 0..n {
            let mut next = || columns.each_mut().map(|of_places| of_places.next().unwrap_or(u64::MAX));
            let [document, start, first_line, lines, flags] = next();
            let start = u32::try_from(start).ok()?;
            let first_line = u32::try_from(first_line).ok()?;
            node.places.push(Place {
                document: *identities.get(usize::try_from(document).ok()?)?,
                start,
                end: start.checked_add(node.word.tokens)?,
                first_line,
                end_line: first_line.checked_add(u32::try_from(lines).ok()?)?,
                is_test: flags & TEST != 0,
                is_generated: flags & GENERATED != 0,
            });
        }
    }
    for i in 0..n {
        for _ in 0..n_edges[i] {
            let other = i.checked_add(usize::try_from(reader.number()?).ok()?)?;
            let longer = nodes[i].word.tokens.max(nodes.get(other)?.word.tokens);
            let common = longer.checked_sub(u32::try_from(reader.number()?).ok()?)?;
            nodes[i].edges.push(Edge { other: hashes[other], common });
            nodes[other].edges.push(Edge { other: hashes[i], common });
        }
    }
    nodes.iter_mut().for_each(|node| node.edges.sort_unstable());
    reader.is_empty().then(|| Kept { identities, graph: Graph::new(min_similarity, nodes) })
}

/// Are these bytes a graph of this version, of whatever?
pub fn is_whole(bytes: &[u8]) -> bool {
    FRAME.open(bytes).is_some_and(|(key, _)| read(bytes, key).is_some())
}

/// The next `n` numbers, of which each takes a byte or more.
fn column<'a>(reader: &mut Reader<'a>, n: usize, read: impl Fn(&mut Reader<'a>) -> Option<u64>) -> Option<Vec<u64>> {
    (n <= reader.len()).then(|| (0..n).map(|_| read(reader)).collect::<Option<_>>())?
}
