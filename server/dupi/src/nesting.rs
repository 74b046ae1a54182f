//! A class inside another is shown only if it has more copies.

use std::collections::HashMap;

use crate::class::{Class, Fragment};

/// Tokens per bucket: a copy is noted in each bucket that it touches, and looked for in one.
const BUCKET: u32 = 64;

/// How many classes around one place are looked at, the most copied and largest first.
/// Only a file made to be slow has more.
const MAX_AROUND: usize = 1024;

/// Drops only classes that are another one over again: found by text and by structure, say.
pub fn drop_repeated(mut classes: Vec<Class>) -> Vec<Class> {
    classes.sort_by(|a, b| {
        let by_kind = a.copies.cmp(&b.copies).then(a.kind.cmp(&b.kind));
        by_kind.then(b.similarity.total_cmp(&a.similarity)).then(a.id.cmp(&b.id))
    });
    classes.dedup_by(|next, class| next.copies == class.copies);
    classes
}

/// Drops each class all of whose copies lie in the copies of one other class that has at least as many.
pub fn drop_nested(mut classes: Vec<Class>) -> Vec<Class> {
    classes.sort_by(|a, b| {
        // Of two classes of the same copies the one of the stricter kind stays.
        (b.copies.len(), b.tokens, a.kind, b.similarity)
            .partial_cmp(&(a.copies.len(), a.tokens, b.kind, a.similarity))
            .unwrap_or(std::cmp::Ordering::Equal)
            .then_with(|| a.copies.cmp(&b.copies))
            .then_with(|| a.id.cmp(&b.id))
    });
    let mut kept: Vec<Class> = Vec::new();
    let mut buckets: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
    for class in classes {
        let first = class.copies[0];
        let around = buckets.get(&(first.document, first.start / BUCKET));
        let nested = around.is_some_and(|around| {
            around.iter().take(MAX_AROUND).any(|&i| {
                let other = &kept[i as usize];
                class.copies.iter().all(|copy| is_inside(copy, &other.copies))
            })
        });
        if nested {
            continue;
        }
        let index = kept.len() as u32;
        for copy in &class.copies {
            for bucket in copy.start / BUCKET..=(copy.end - 1) / BUCKET {
                buckets.entry((copy.document, bucket)).or_default().push(index);
            }
        }
        kept.push(class);
    }
    kept
}

/// Does one of `others`, sorted and apart, contain the fragment?
pub fn is_inside(fragment: &Fragment, others: &[Fragment]) -> bool {
    let i = others.partition_point(|other| (other.document, other.start) <= (fragment.document, fragment.start));
    i.checked_sub(1).is_some_and(|i| others[i].contains(fragment))
}
