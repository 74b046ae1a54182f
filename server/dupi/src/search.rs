//! The whole way from files to classes, for a workspace read from scratch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dupi_grammars::Language;
use rayon::prelude::*;

use crate::blots::Blotting;
use crate::candidates::ranges_and_blots;
use crate::class::Class;
use crate::document::{Document, Scratch};
use crate::near::{self, Documents, Graph, Place, SEEDS, View};
use crate::raw::{Settled, raw_classes, settle};
use crate::settings::Settings;
use crate::skip::Skip;
use crate::{Error, files};

/// What a search is doing, for those who wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Looking for files.
    Walking,
    /// Files read, of how many.
    Reading(usize, usize),
    /// Comparing what was read.
    Comparing,
}

/// What a search has found.
pub struct Report {
    pub root: PathBuf,
    /// In the order of their paths; a class names a file by its index here.
    pub files: Vec<File>,
    pub skipped: Vec<Skip>,
    /// Worst first.
    pub classes: Vec<Class>,
    /// Those that would stand there too, but that somebody wants as they are.
    pub ignored: Vec<Class>,
}

/// A file that was read.
#[derive(Clone)]
pub struct File {
    pub path: PathBuf,
    /// Relative to the root, with `/`.
    pub shown: String,
    pub language: &'static Language,
    pub n_lines: u32,
    pub n_tokens: u32,
    pub bytes: u64,
}

impl File {
    pub fn of(document: &Document) -> File {
        File {
            path: document.path.clone(),
            shown: document.shown.clone(),
            language: document.language,
            n_lines: document.n_lines,
            n_tokens: document.codes.len() as u32,
            bytes: document.bytes,
        }
    }
}

impl Report {
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.n_lines)).sum()
    }

    pub fn tokens(&self) -> u64 {
        self.files.iter().map(|file| u64::from(file.n_tokens)).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// Runs `work` on as many threads as the settings ask for.
pub fn with_threads<T: Send>(settings: &Settings, root: &Path, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(settings.threads)
        .build()
        .map_err(|source| Error::Read { path: root.to_owned(), source: std::io::Error::other(source) })?;
    Ok(pool.install(work))
}

/// Reads all sources under `paths` and finds their classes. Everything is shown relative to `root`.
pub fn search(
    root: &Path,
    paths: &[PathBuf],
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, Error> {
    with_threads(settings, root, || {
        progress(Progress::Walking);
        let found = files::find(root, paths, settings)?;
        let mut skipped = found.skipped;
        let documents = read(&found.sources, settings, &mut skipped, progress);
        skipped.sort();
        progress(Progress::Comparing);
        let Settled { shown: classes, ignored } = settled(&documents, settings);
        let files = documents.iter().map(|document| File::of(document)).collect();
        Ok(Report { root: root.to_owned(), files, skipped, classes, ignored })
    })?
}

fn read(
    sources: &[files::Source],
    settings: &Settings,
    skipped: &mut Vec<Skip>,
    progress: &(dyn Fn(Progress) + Sync),
) -> Vec<Arc<Document>> {
    let n_read = AtomicUsize::new(0);
    let read: Vec<Result<Option<Document>, Skip>> = sources
        .par_iter()
        .with_max_len(64)
        .map_init(Scratch::default, |scratch, source| {
            let document = Document::read(source, settings, scratch);
            let n = n_read.fetch_add(1, Ordering::Relaxed) + 1;
            if n.is_multiple_of(256) || n == sources.len() {
                progress(Progress::Reading(n, sources.len()));
            }
            document.map_err(|reason| Skip { path: source.shown.clone(), reason })
        })
        .collect();
    let mut documents = Vec::with_capacity(read.len());
    for result in read {
        match result {
            Ok(document) => documents.extend(document.map(Arc::new)),
            Err(skip) => skipped.push(skip),
        }
    }
    documents
}

/// The classes of a set of documents in the order of their paths, worst first: a function of that set alone.
pub fn classes(documents: &[Arc<Document>], settings: &Settings) -> Vec<Class> {
    settled(documents, settings).shown
}

fn settled(documents: &[Arc<Document>], settings: &Settings) -> Settled {
    let blotting = Blotting::of(settings);
    let (ranges, blots) = ranges_and_blots(documents, &blotting);
    let raw = raw_classes(documents, &ranges, settings);
    drop(ranges);
    let mut classes: Vec<Class> = raw.into_iter().map(|raw| raw.class).collect();
    if near::key(settings).is_some() {
        // Their places in the list tell them apart here.
        let identities: Vec<u64> = (0..documents.len() as u64).collect();
        let blots = (blotting == SEEDS).then_some(blots);
        let graph = Graph::find_among(documents, &identities, settings.min_similarity, blots, &|| false);
        let near = graph.and_then(|graph| View::new(&graph, settings).classes(&Listed(documents)));
        classes.extend(near.unwrap_or_default());
    }
    settle(classes, settings, |i| &documents[i as usize].shown)
}

/// Documents whose identities are their places in a list.
struct Listed<'a>(&'a [Arc<Document>]);

impl Documents for Listed<'_> {
    fn number(&self, identity: u64) -> Option<u32> {
        u32::try_from(identity).ok()
    }

    fn document(&self, place: &Place) -> Option<Arc<Document>> {
        self.0.get(usize::try_from(place.document).ok()?).cloned()
    }
}

#[cfg(test)]
pub mod tests {
    use std::collections::{BTreeSet, HashMap};

    use dupi_grammars::token::{IDENTIFIER, Unit};
    use proptest::prelude::*;

    use super::*;
    use crate::blots::Blotter;
    use crate::document::tests::document;
    use crate::{Fragment, Kind, Zone};

    /// A program of more statements has functions of so many: long enough for runs with gaps in them.
    const LONG: usize = 45;

    /// A small program: statements drawn from a few shapes with a few names, so that repeats of all sorts come about.
    pub fn program(statements: &[(u8, u8, u8)]) -> String {
        let mut text = String::from("package p\n");
        let per_function = if statements.len() > LONG { LONG } else { 9 };
        for (i, chunk) in statements.chunks(per_function).enumerate() {
            text.push_str(&format!("func f{i}(a, b int) int {{\n"));
            for (shape, x, y) in chunk {
                let (x, y) = (["a", "b", "c", "d"][*x as usize % 4], ["a", "b", "c", "d"][*y as usize % 4]);
                text.push_str(&match shape % 5 {
                    0 => format!("\t{x} = {y} + 1\n"),
                    1 => format!("\tg({x}, {y}, \"s\")\n"),
                    2 => format!("\tif {x} > {y} {{\n\t\t{y}++\n\t\th({x})\n\t}}\n"),
                    3 => format!("\tfor {x} := range {y} {{\n\t\t{y} += {x} * 2\n\t}}\n"),
                    _ => format!("\treturn {x}\n"),
                });
            }
            text.push_str("}\n");
        }
        text
    }

    pub fn settings() -> Settings {
        Settings { min_tokens: 12, test_min_tokens: 12, min_lines: 1, min_similarity: 0.7, ..Settings::default() }
    }

    pub fn documents(programs: &[Vec<(u8, u8, u8)>], settings: &Settings) -> Vec<Arc<Document>> {
        programs
            .iter()
            .enumerate()
            .map(|(i, statements)| {
                Arc::new(document(&format!("{i}.go"), &program(statements), settings).expect("a good text"))
            })
            .collect()
    }

    /// Classes without document indices, so that they can be compared when documents come in another order.
    pub fn named(documents: &[Arc<Document>], classes: &[Class]) -> BTreeSet<String> {
        classes
            .iter()
            .map(|class| {
                let mut copies: Vec<String> = class
                    .copies
                    .iter()
                    .map(|copy| format!("{}:{}-{}", documents[copy.document as usize].shown, copy.start, copy.end))
                    .collect();
                copies.sort();
                format!(
                    "{:x} {:?} {:?} {} {:.6} {copies:?}",
                    class.id, class.kind, class.zone, class.tokens, class.similarity
                )
            })
            .collect()
    }

    /// Is `b` a one-to-one renaming of `a`? By the definition: one map there, one map back.
    fn is_renaming(a: (&[u8], &[u32]), b: (&[u8], &[u32])) -> bool {
        let (mut there, mut back) = (HashMap::new(), HashMap::new());
        let names = a.0.iter().filter(|&&code| dupi_grammars::token::varies(code));
        a.0 == b.0
            && names.zip(a.1.iter().zip(b.1)).all(|(&code, (x, y))| {
                code != IDENTIFIER || (there.entry(x).or_insert(y) == &y && back.entry(y).or_insert(x) == &x)
            })
    }

    /// Do the units `a..=b` lie in a row of one text, and reach over more than a round of it? Of such a row only the
    /// pattern is looked for, and the row as a whole.
    fn lies_in_row(document: &Document, units: &[&Unit], a: usize, b: usize) -> bool {
        let text = |i: usize| document.read_tokens(units[i].start, units[i].end);
        (1..=(b - a).min(units.len() / 3)).any(|period| {
            let equal = |i: usize| i + period < units.len() && text(i) == text(i + period);
            let end = (a..units.len()).take_while(|&i| equal(i)).count() + a + period;
            let start = a - (0..a).rev().take_while(|&i| equal(i)).count();
            b < end && end - start >= 3 * period
        })
    }

    /// Do two equal runs of one document, `a` before `b`, grow into each other when both are made longer as far as their
    /// text stays equal?
    fn overlaps_itself(documents: &[Arc<Document>], a: &Fragment, b: &Fragment) -> bool {
        let document = &documents[a.document as usize];
        let token = |i: u32| document.read_tokens(i, i + 1);
        let shift = b.start - a.start;
        let n = document.codes.len() as u32;
        let right = (a.end..n - shift).take_while(|&i| token(i) == token(i + shift)).count() as u32;
        let left = (0..a.start).rev().take_while(|&i| token(i) == token(i + shift)).count() as u32;
        a.len() + left + right > shift
    }

    /// The shape of a statement and the names in it.
    type Step = (u8, u8, u8);

    pub fn programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
        prop_oneof![3 => mixed_programs(), 1 => edited_programs()]
    }

    /// Programs that were one before some of their statements were edited, and some of them renamed.
    pub fn edited_programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
        let statement = || (0u8..5, 0u8..4, 0u8..4);
        let edits = prop::collection::vec((0usize..36, 0u8..3, statement()), 0..4);
        let common = prop::collection::vec(statement(), 28..36);
        (common, prop::collection::vec((edits, 0u8..2), 2..5)).prop_map(|(common, programs)| {
            let edited = |(edits, shift): (Vec<(usize, u8, Step)>, u8)| {
                let mut program = common.clone();
                for (at, what, statement) in edits {
                    let at = at % program.len();
                    match what {
                        0 => program.insert(at, statement),
                        1 => drop(program.remove(at)),
                        _ => program[at] = statement,
                    }
                }
                // What follows makes the program a long one, whatever was removed.
                program.extend([(4, 0, 0); 24]);
                program.iter().map(|&(shape, x, y)| (shape, x + shift, y + shift)).collect()
            };
            programs.into_iter().map(edited).collect()
        })
    }

    fn mixed_programs() -> impl Strategy<Value = Vec<Vec<Step>>> {
        // A pool of chunks that programs are put together from, so that long copies are common.
        let chunk = prop::collection::vec((0u8..5, 0u8..4, 0u8..4), 1..12);
        (prop::collection::vec(chunk, 2..6), prop::collection::vec(prop::collection::vec(0usize..6, 1..5), 1..5))
            .prop_map(|(pool, picks)| {
                picks.iter().map(|picks| picks.iter().flat_map(|&i| pool[i % pool.len()].clone()).collect()).collect()
            })
    }

    /// The classes of a few texts as `kind lines…`, where lines are those of the copies in the order of the texts.
    fn shown(texts: &[(&str, &str)], settings: &Settings) -> Vec<String> {
        shown_of(texts, settings, classes)
    }

    fn shown_of(
        texts: &[(&str, &str)],
        settings: &Settings,
        classes: impl Fn(&[Arc<Document>], &Settings) -> Vec<Class>,
    ) -> Vec<String> {
        let read = |(name, text): &(&str, &str)| Arc::new(document(name, text, settings).expect("a good text"));
        let documents: Vec<Arc<Document>> = texts.iter().map(read).collect();
        let lines = |class: &Class| -> String {
            class.at.iter().map(|lines| format!(" {}-{}", lines.start + 1, lines.end)).collect()
        };
        classes(&documents, settings).iter().map(|class| format!("{}{}", class.kind.name(), lines(class))).collect()
    }

    /// Findings, each in the language in which it was met.
    #[cfg(feature = "all")]
    mod findings {
        use super::*;

        /// Those that runs alone make: where a function as a whole is a near copy, the runs in it are not shown.
        fn shown_runs(texts: &[(&str, &str)], settings: &Settings) -> Vec<String> {
            shown_of(texts, settings, |documents, settings| {
                let (ranges, _) = ranges_and_blots(documents, &Blotting::of(settings));
                let raw = raw_classes(documents, &ranges, settings).into_iter().map(|raw| raw.class).collect();
                settle(raw, settings, |i| &documents[i as usize].shown).shown
            })
        }

        /// In C#, Kotlin and Scala a function can be one long expression: it has hardly a statement.
        #[test]
        fn an_edited_function_of_one_expression_is_found() {
            let method = |name: &str, order: &str| {
                format!(
                    "class Of{name} {{
    public Rows {name}(Owners owners)
        => Set<Row>(owners.Shared, tracked: true)
            .Where(row => row.Owner.Name == owners.First(row.Number).Name && !row.IsGone)
            .SelectMany(row => row.Parts, (row, part) => new {{ row, part, total = part.Price * row.Count }})
            .GroupBy(both => both.part.Kind ?? both.row.Kind)
            .Select(group => new Row(group.Key, group.Sum(both => both.total), group.Count() + 1))
            .OrderBy(row => row.{order}.Value)
            .ThenBy(row => row.Number)
            .Take(owners.Most > 10 ? 10 : owners.Most);
}}
"
                )
            };
            let texts = [("a.cs", &*method("Sorted", "Name")), ("b.cs", &*method("Ranked", "Rank.Last"))];
            assert_eq!(shown(&texts, &Settings::default()), ["near 2-10 2-10"]);
        }

        /// A statement of one shape beside two copies makes their run longer, and as a whole it is too unlike.
        #[test]
        fn what_stands_beside_copies_does_not_hide_them() {
            let copy = |list: &str, beside: &str| {
                format!(
                    "for (const item of {list}.items) {{
    if (item == null || item.count > {list}.most) {{
        continue;
    }}
    total = total + item.price * item.count;
    note(item.name, total, item.price);
}}
send(total, {list}.name, {list}.owner);
{beside}
"
                )
            };
            let call = |name: &str| format!("draw({});", (0..60).map(|i| format!("{name}{i}, ")).collect::<String>());
            for (one, other) in [(call("a"), "go(stop);".to_owned()), (call("a"), call("b"))] {
                let texts = [("a.js", &*copy("list", &one)), ("b.js", &*copy("rows", &other))];
                assert_eq!(shown_runs(&texts, &Settings::default()), ["renamed 1-8 1-8"], "{other}");
                // The one in the inner list comes first in the file, and last among its lists.
                let (inner, outer) = (copy("list", &one), copy("rows", &other));
                let file = format!("function f() {{\nif (ok) {{\n{inner}}}\n{outer}}}\n");
                assert_eq!(shown_runs(&[("a.js", &*file)], &Settings::default()), ["renamed 3-10 13-20"], "{other}");
            }
        }

        /// Calls, fields and assignments alone have few different codes, and yet make functions that are worth a word.
        #[test]
        fn a_renamed_method_of_plain_statements_is_found_at_any_minimum() {
            let method = |name: &str, value: &str| {
                format!(
                    "fn {name}({value}: B) {{
    {value}.start(one, two);
    {value}.x.y = {value}.width;
    draw({value}.x, {value}, one.z.top);
    {value}.z = two;
    {value}.color.set({value}.x.y.z);
    {value}.end(f({value}, {value}.x), g({value}));
    h({value}.x.y(one), two);
    {value} = u.v.next({value}, one);
    {value}.u.w(i, {value}.z.u.w, j);
}}
"
                )
            };
            for least in [20, 30, 40, 50, 80] {
                let settings = Settings { min_tokens: least, ..Settings::default() };
                let found =
                    shown(&[("a.rs", &method("show", "first")), ("b.rs", &method("hide", "second"))], &settings);
                assert_eq!(found, ["renamed 1-11 1-11"], "{least}");
            }
        }

        const ROUNDS: &str = "    await hit.wait()
    assert obj.running
    assert obj.runs == 0
    assert len(ev) == 0
";

        fn with_rounds(rounds: usize, end: &str) -> String {
            let head = "async def run(hass):
    ev = capture(hass, \"x\")
    seq = build([{\"a\": ev, \"b\": 1}, {\"a\": ev, \"b\": 2}, {\"a\": ev, \"c\": 4}])
    obj = Script(hass, seq, \"name\", \"domain\", mode=\"queued\", max_runs=2)
    hit = asyncio.Event()
    if not obj.ready:
        raise ValueError(obj)
    obj.listener = hit.set
    hass.create_task(obj.run(context=Context()))
";
            format!("{head}{}{end}", ROUNDS.repeat(rounds))
        }

        /// One copy has three rounds of what the other has once: those statements belong to both copies.
        #[test]
        fn a_run_goes_on_into_what_is_a_row_in_one_of_its_copies() {
            let once = with_rounds(1, "    stop(hass)\n    done(obj, hass, ev)\n");
            let thrice = with_rounds(3, "    go(hass, ev, obj, 1)\n");
            let unlike = [("a.py", &*once), ("b.py", &*thrice)];
            assert_eq!(shown_runs(&unlike, &Settings::default()), ["exact 2-13 2-13"]);
            assert_eq!(shown(&unlike, &Settings::default()), ["near 1-15 1-22"]);
            assert_eq!(shown(&[("a.py", &thrice), ("b.py", &thrice)], &Settings::default()), ["exact 1-22 1-22"]);
        }

        /// Reduced from two files of Rails: rows of `alias` between members.
        #[test]
        fn a_line_before_a_copy_does_not_hide_the_rows_in_it() {
            let copy = "  alias :one :two
  alias :three :four
  alias :five :six

  def middle_of_day(options)
    change(hour: 12, min: options.fetch(:min), sec: options.fetch(:sec))
    return self if options.empty?
    validate(options)
  end
  alias :midday :middle_of_day
  alias :noon :middle_of_day
  alias :at_midday :middle_of_day
  alias :at_noon :middle_of_day
";
            for before in ["", "  alias :zero :none\n", "  alias :zero :none\n  alias :zero :some\n"] {
                let (a, b) = (
                    format!("class A\n{before}{copy}  def noon? = now == noon\nend\n"),
                    format!("class B\n{copy}end\n"),
                );
                let n = before.lines().count();
                let expected = format!("exact {}-{} 2-14", 2 + n, 14 + n);
                assert_eq!(shown(&[("a.rb", &a), ("b.rb", &b)], &Settings::default()), [expected], "{before}");
            }
        }

        /// Reduced from Kong: a row of one shape, of which one field differs.
        #[test]
        fn a_row_of_one_shape_is_no_single_piece() {
            let body = |last: &str| -> String {
                let part = |(field, value): &(&str, &str)| {
                    format!(
                        "  if consumer.{field} then
    set_header(HEADERS.{value}, consumer.{field}, request, credential.owner)
    log.debug(\"set\", HEADERS.{value}, consumer.{field}, request.id, now())
  else
    clear_header(HEADERS.{value}, request, credential.owner)
  end
"
                    )
                };
                let parts = [("id", "ID"), ("custom_id", "CUSTOM"), ("username", "NAME"), (last, "LAST")];
                parts.iter().map(part).collect()
            };
            let a = format!("function one(consumer, credential)\n{}end\n", body("tag"));
            let b = format!("function two(consumer, credential)\n  start()\n{}end\n", body("custom_id"));
            let texts = [("a.lua", &*a), ("b.lua", &*b)];
            assert_eq!(shown_runs(&texts, &Settings::default())[0], "near 2-25 3-26");
            assert_eq!(shown(&texts, &Settings::default())[0], "near 1-26 1-27");
        }

        /// The first three steps of two functions are alike enough, the first four are not, and in a third function other
        /// steps follow on three. It is no copy of the two, so it must not make copies of them.
        #[test]
        fn a_third_place_does_not_say_where_the_run_of_two_others_ends() {
            let function = |first: &str, save: &str, middle: &str, end: &str| {
                let step = |name: &str| {
                    format!(
                        "  if [ -n \"$BACKUP_{name}\" ]; then
    {name}=\"$BACKUP_{name}\"
  else
    {name}=\"$(default_of {name})\"
  fi
"
                    )
                };
                let (a, b) = (step(first), step("KEEP"));
                format!("read() {{\n{a}{b}  {save} SOURCE \"$SOURCE\"\n{middle}  {save} TARGET \"$TARGET\"\n{end}}}\n")
            };
            let other = "  for file in $FILES; do\n    copy $file\n  done\n";
            let two =
                [("a.sh", &*function("TARGET", "save", "", other)), ("b.sh", &function("TARGET", "save2", "", ""))];
            let third = function("SOURCE", "save", other, "");
            let settings = Settings { min_tokens: 30, kinds: vec![Kind::Exact, Kind::Renamed], ..Settings::default() };
            let expected = shown(&two, &settings);
            assert_eq!(shown(&[two[0], two[1], ("c.sh", &third)], &settings), expected);
        }

        #[test]
        fn a_name_in_two_roles_is_two_names() {
            let c = |function: &str, order: &str| {
                format!(
                    "static int {function}(struct order *{order}, int rate)
{{
    int sum = 0;
    for (struct line *l = {order}->lines; l; l = l->next) {{
        int part = l->price * l->count;
        if (l->taxed) {{
            part += part * rate / 100;
        }}
        sum += part;
    }}
    if (sum > {order}->limit) {{
        fail(\"limit of %s\", {order}->order);
    }}
    return sum;
}}
"
                )
            };
            let texts = [("a.c", &*c("total", "order")), ("b.c", &c("amount", "o"))];
            assert_eq!(shown(&texts, &Settings::default()), ["renamed 1-15 1-15"]);
            let go = |function: &str, clock: &str, sum: &str| {
                format!(
                    "package a
func {function}({clock} *clock.Clock, rate int) (int, error) {{
	{sum} := 0
	for _, line := range {clock}.Lines() {{
		{sum} += line.Price() * line.Count() * rate / 100
	}}
	if {sum} > {clock}.Limit() {{
		return 0, errors.New(\"limit of \" + {clock}.Name())
	}}
	return {sum}, nil
}}
"
                )
            };
            let texts = [("a.go", &*go("wait", "clock", "sum")), ("b.go", &go("pause", "c", "all"))];
            assert_eq!(shown(&texts, &Settings::default()), ["renamed 2-11 2-11"]);
        }
    }

    #[test]
    fn a_copy_of_code_in_a_test_is_held_to_the_minimum_of_code() {
        let text = "package a
func total(lines []Line, rate int) int {
	sum := 0
	for _, line := range lines {
		part := line.Price * line.Count
		if line.Taxed {
			part += part * rate / 100
		}
		sum += part
	}
	return sum
}
";
        let settings = Settings { zones: vec![Zone::Test], ..Settings::default() };
        for settings in [Settings::default(), settings] {
            assert_eq!(shown(&[("a.go", text), ("a_test.go", text)], &settings), ["exact 2-12 2-12"]);
            assert_eq!(shown(&[("b_test.go", text), ("a_test.go", text)], &settings), Vec::<String>::new());
        }
    }

    proptest! {
        #![proptest_config(crate::cases(256))]

        /// Against the naive way: every two runs of siblings with equal text, compared token by token.
        #[test]
        fn every_exact_copy_of_whole_units_is_in_a_class(programs in programs()) {
            let settings = Settings { zones: Zone::ALL.to_vec(), ..settings() };
            let documents = documents(&programs, &settings);
            let classes = classes(&documents, &settings);
            let mut runs = Vec::new();
            for (i, document) in documents.iter().enumerate() {
                let lists = document.units.iter().map(|unit| unit.list).max().map_or(0, |n| n + 1);
                for list in 0..lists {
                    let units: Vec<_> = document.units.iter().filter(|unit| unit.list == list && unit.flags & Unit::IMPORT == 0).collect();
                    for a in 0..units.len() {
                        for b in a..units.len() {
                            let run = Fragment { document: i as u32, start: units[a].start, end: units[b].end };
                            if run.len() >= settings.min_tokens {
                                runs.push((run, lies_in_row(document, &units, a, b)));
                            }
                        }
                    }
                }
            }
            let text = |run: &Fragment| documents[run.document as usize].read_tokens(run.start, run.end);
            // A pattern that stands twice and a bit in a row is shown as that: not every run within it is.
            let in_pattern = |run: &Fragment| {
                runs.iter().any(|(twin, _)| {
                    twin != run
                        && twin.document == run.document
                        && text(twin) == text(run)
                        && overlaps_itself(&documents, run.min(twin), run.max(twin))
                })
            };
            let runs: Vec<Fragment> =
                runs.iter().filter(|(run, row)| !row && !in_pattern(run)).map(|(run, _)| *run).collect();
            for (i, a) in runs.iter().enumerate() {
                for b in &runs[i + 1..] {
                    if text(a) != text(b) {
                        continue;
                    }
                    let stands = |class: &Class, run: &Fragment| class.copies.iter().any(|copy| copy.contains(run));
                    let together = classes.iter().any(|class| stands(class, a) && stands(class, b));
                    prop_assert!(together, "{a:?} {b:?} in {programs:?}\n{classes:?}");
                }
            }
        }

        #[test]
        fn classes_are_what_their_kind_says_and_their_copies_are_apart(programs in programs()) {
            let settings = settings();
            let documents = documents(&programs, &settings);
            for class in classes(&documents, &settings) {
                let text = |copy: &Fragment| documents[copy.document as usize].read_tokens(copy.start, copy.end);
                for pair in class.copies.windows(2) {
                    prop_assert!(pair[0] < pair[1] && !pair[0].overlaps(&pair[1]));
                    prop_assert!(class.kind == Kind::Near || text(&pair[0]).0 == text(&pair[1]).0);
                    match class.kind {
                        Kind::Exact => prop_assert_eq!(text(&pair[0]), text(&pair[1])),
                        Kind::Renamed => prop_assert!(is_renaming(text(&pair[0]), text(&pair[1]))),
                        Kind::Near => {}
                    }
                }
                for copy in &class.copies {
                    let units = &documents[copy.document as usize].units;
                    let first = units.iter().find(|unit| unit.start == copy.start && unit.end <= copy.end);
                    let siblings = first.is_some_and(|first| {
                        units.iter().any(|unit| unit.list == first.list && unit.end == copy.end)
                            || units.iter().any(|unit| unit.start == copy.start && unit.end == copy.end)
                    });
                    prop_assert!(siblings, "not whole units: {copy:?}");
                }
            }
        }

        /// What is large enough is judged alike, whatever the minimum.
        #[test]
        fn what_a_smaller_minimum_shows_is_shown_by_the_larger_one_if_it_is_large_enough(
            programs in programs(), small in 4u32..40, more in 1u32..40,
        ) {
            let least = |n: u32| Settings { min_tokens: n, test_min_tokens: n, ..settings() };
            let documents = documents(&programs, &settings());
            let large = classes(&documents, &least(small + more));
            for class in classes(&documents, &least(small)).iter().filter(|class| class.tokens >= small + more) {
                let holds = |other: &Class, copy: &Fragment| other.copies.iter().any(|around| around.contains(copy));
                let shown = large.iter().any(|other| class.copies.iter().all(|copy| holds(other, copy)));
                prop_assert!(shown, "{class:?} in {programs:?}\n{large:?}");
            }
        }

        #[test]
        fn a_class_inside_another_has_more_copies(programs in programs()) {
            let settings = settings();
            let documents = documents(&programs, &settings);
            let classes = classes(&documents, &settings);
            for inner in &classes {
                for outer in &classes {
                    let nested = inner.copies.iter().all(|copy| outer.copies.iter().any(|other| other.contains(copy)));
                    prop_assert!(!nested || inner == outer || inner.copies.len() > outer.copies.len());
                }
            }
        }

        #[test]
        fn neither_order_nor_threads_nor_blotter_change_the_answer(programs in programs(), turn in 0usize..5) {
            let settings = settings();
            let mut documents = documents(&programs, &settings);
            let expected = named(&documents, &classes(&documents, &settings));
            for &blotter in Blotter::ALL {
                let other = Settings { blotter, ..settings.clone() };
                prop_assert_eq!(&named(&documents, &classes(&documents, &other)), &expected);
            }
            for threads in [1, 4] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                let found = pool.install(|| classes(&documents, &settings));
                prop_assert_eq!(&named(&documents, &found), &expected);
            }
            let n = documents.len();
            documents.rotate_left(turn % n);
            prop_assert_eq!(&named(&documents, &classes(&documents, &settings)), &expected);
        }
    }
}
