//! Functions whose heads differ, members of all sorts, and what formatters do: the copy is found whole, by the real binary.

use dupi_tests::binary::check_json;
use dupi_tests::workspace::Workspace;
use serde_json::Value;

/// Kind and places of each class.
fn classes(report: &Value) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let place = |copy: &Value| format!("{}:{}-{}", text(&copy["path"]), copy["startLine"], copy["endLine"]);
    let classes = report["classes"].as_array().expect("classes");
    let places = |class: &Value| class["copies"].as_array().expect("copies").iter().map(place).collect();
    classes.iter().map(|class| (text(&class["kind"]), places(class))).collect()
}

fn found(files: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
    let workspace = Workspace::new("");
    for (path, text) in files {
        workspace.write(path, text);
    }
    // Near copies would be the whole definitions, with heads that differ.
    classes(&check_json(workspace.path(), &["--kind", "exact,renamed"]))
}

fn class(kind: &str, places: [&str; 2]) -> Vec<(String, Vec<String>)> {
    vec![(kind.to_owned(), places.map(str::to_owned).to_vec())]
}

/// A one-to-one renaming of the functions below.
fn renamed(text: &str) -> String {
    const NAMES: [(&str, &str); 7] = [
        ("total", "amount"),
        ("order", "basket"),
        ("rate", "share"),
        ("sum", "acc"),
        ("line", "entry"),
        ("part", "bit"),
        ("price", "cost"),
    ];
    NAMES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

const JAVA: &str = "int total(Order order, int rate) {
        int sum = 0;
        for (Line line : order.lines()) {
            int part = line.price() * line.count();
            if (line.taxed()) {
                part += part * rate / 100;
            }
            sum += part;
        }
        if (sum > order.limit()) {
            throw new IllegalStateException(order.name());
        }
        return sum;
    }
";

const RUST: &str = "fn total(order: &Order, rate: u32) -> u32 {
    let mut sum = 0;
    for line in order.lines() {
        let mut part = line.price() * line.count();
        if line.taxed() {
            part += part * rate / 100;
        }
        sum += part;
    }
    if sum > order.limit() {
        panic!(\"{}\", order.name());
    }
    sum
}
";

const PYTHON: &str = "def total(order, rate):
    sum = 0
    for line in order.lines():
        part = line.price() * line.count()
        if line.taxed():
            part += part * rate / 100
        sum += part
    if sum > order.limit():
        raise ValueError(order.name())
    for note in order.notes():
        print(note, sum, rate)
    return sum
";

const SCRIPT: &str = "function total(order, rate) {
    let sum = 0;
    for (const line of order.lines()) {
        let part = line.price() * line.count();
        if (line.taxed()) {
            part += part * rate / 100;
        }
        sum += part;
    }
    if (sum > order.limit()) {
        throw new Error(order.name(), sum);
    }
    return sum;
}
";

const C: &str = "int total(struct shop *order, int rate)
{
    int sum = 0;
    for (struct row *line = order->lines; line; line = line->next) {
        int part = line->price * line->count;
        if (line->taxed) {
            part += part * rate / 100;
        }
        sum += part;
    }
    if (sum > order->limit) {
        fail(\"%s\", order->name);
    }
    return sum;
}
";

const GO: &str = "total(order *Order, rate int) int {
\tsum := 0
\tfor _, line := range order.Lines() {
\t\tpart := line.price() * line.Count()
\t\tif line.Taxed() {
\t\t\tpart += part * rate / 100
\t\t}
\t\tsum += part
\t}
\tif sum > order.Limit() {
\t\tpanic(order.Name())
\t}
\treturn sum
}
";

#[test]
fn a_head_that_differs_hides_no_copy() {
    for (extension, frame, function, heads) in [
        (
            "java",
            "class A {\n    int k;\n    $}\n",
            JAVA,
            &["public ", "private static ", "@Override\n    public "][..],
        ),
        ("rs", "$", RUST, &["pub ", "pub(crate) ", "#[inline]\n", "async ", "#[inline]\npub(crate) unsafe "]),
        ("py", "$", PYTHON, &["@cached\n", "async ", "@a.b(c)\n@d\nasync "]),
        ("ts", "$", SCRIPT, &["export ", "export default ", "async "]),
        ("c", "$", C, &["static ", "static inline ", "__always_inline "]),
        ("go", "package a\n\nfunc $", GO, &["(t *Tool) "]),
    ] {
        for head in heads {
            for (kind, other) in [("exact", function.to_owned()), ("renamed", renamed(function))] {
                let a = frame.replace('$', function);
                let b = frame.replace('$', &format!("{head}{other}"));
                // The copy starts where the definition does, on its line; heads on lines of their own are none of it.
                let start = frame.split('$').next().map_or(0, |before| before.matches('\n').count()) + 1;
                let length = function.matches('\n').count() - 1;
                let after = start + head.matches('\n').count();
                let expected = class(
                    kind,
                    [
                        &format!("a.{extension}:{start}-{}", start + length),
                        &format!("b.{extension}:{after}-{}", after + length),
                    ],
                );
                let files = [(format!("a.{extension}"), a), (format!("b.{extension}"), b)];
                let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
                assert_eq!(found(&files), expected, "{head:?} in {extension}");
            }
        }
    }
}

#[test]
fn a_head_that_is_equal_is_part_of_the_copy() {
    let a = format!("#[cold]\n#[inline]\npub {RUST}");
    assert_eq!(found(&[("a.rs", &a), ("b.rs", &a)]), class("exact", ["a.rs:1-16", "b.rs:1-16"]));
    // As much of it as is equal.
    let b = format!("#[inline]\npub {}", renamed(RUST));
    assert_eq!(found(&[("a.rs", &a), ("b.rs", &b)]), class("renamed", ["a.rs:2-16", "b.rs:1-15"]));
}

#[test]
fn members_are_definitions_wherever_they_stand() {
    let method = SCRIPT.replace("function ", "").replace('\n', "\n    ");
    let method = method.trim_end();
    for (path, before, function, between) in [
        ("a.java", "@A({\"x\"})\nclass K {\n    int z;\n    ", JAVA.trim_end(), "\n    "),
        ("a.java", "record K(int a, int b) {\n\n\n    ", JAVA.trim_end(), "\n    "),
        (
            "a.cs",
            "[A(new[] { 1 })]\nclass K {\n    int z;\n    ",
            JAVA.replace("for (Line line :", "foreach (var line in").trim_end(),
            "\n    ",
        ),
        (
            "a.ts",
            "@Component({ selector: 'a', host: { b: 'c' } })\nexport class K {\n    z = 1;\n    ",
            method,
            "\n    ",
        ),
        ("a.js", "export default {\n    z: 1,\n\n    ", method, ",\n    "),
        ("a.js", "f(a, {\n    z: 1,\n\n    ", &method.replacen("total", "total: function ", 1), ",\n    "),
    ] {
        let text = format!("{before}{function}{between}{}\n}}\n", renamed(function));
        let length = function.matches('\n').count();
        let expected = class(
            "renamed",
            [&format!("{path}:4-{}", 4 + length), &format!("{path}:{}-{}", 5 + length, 5 + 2 * length)],
        );
        assert_eq!(found(&[(path, &text)]), expected, "{text}");
    }
}

#[test]
fn what_a_formatter_adds_or_removes_changes_nothing() {
    let python = PYTHON.replace("def total(order, rate):", "def total(\n    order,\n    rate,\n):");
    let rust = RUST.replace("(order: &Order, rate: u32)", "(\n    order: &Order,\n    rate: u32,\n)");
    let bare = SCRIPT.replace(";\n", "\n");
    for (extension, a, b) in [("py", PYTHON, &python), ("rs", RUST, &rust), ("ts", SCRIPT, &bare)] {
        let (a_path, b_path) = (format!("a.{extension}"), format!("b.{extension}"));
        let places = [("exact", b.clone()), ("renamed", renamed(b))].map(|(kind, b)| {
            let expected = class(
                kind,
                [
                    &format!("{a_path}:1-{}", a.matches('\n').count()),
                    &format!("{b_path}:1-{}", b.matches('\n').count()),
                ],
            );
            (found(&[(&a_path, a), (&b_path, &b)]), expected)
        });
        for (found, expected) in places {
            assert_eq!(found, expected, "{extension}");
        }
    }
}
