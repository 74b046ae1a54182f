//! The role of a name: what it is a name of, to judge by the tokens beside it.
//!
//! In `struct order *order` there are two names, spelled alike, and who renames the parameter leaves the type as it is.
//! So a renaming is one-to-one by name and role. A role follows from the codes of a few neighbours within the same unit,
//! never from names, so two pieces with the same codes have the same roles. Knows no scopes: where tokens do not tell, a
//! name has the role of a variable.

use dupi_grammars::Language;
use dupi_grammars::token::{CLOSE_BRACKET, CLOSE_PAREN, COMMA, Code, IDENTIFIER, OPEN_BRACKET, OPEN_PAREN};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A variable, a function, a type: whatever is not told apart.
    Variable,
    /// Behind a dot or its like: a field, a method, an item of a module.
    Member,
    /// Of a C type, behind `struct`, `union` or `enum`.
    Tag,
    /// Before a `::`, or a package in the type of a Go parameter.
    Space,
}

/// The rules by which a family of languages gives roles.
#[derive(Clone, Debug)]
pub struct Roles {
    family: &'static str,
    /// By the code before a name.
    behind: [Role; 256],
    /// By the code after it.
    before: [Role; 256],
    /// For Go, the codes of `.` and `*`: they show where a parameter's type names a package.
    package: Option<(Code, Code)>,
}

impl Roles {
    pub fn of(language: &Language) -> Roles {
        let code = |spelling: &str| language.alphabet().code(spelling.as_bytes());
        let table = |roles: &[(&str, Role)]| {
            let mut table = [Role::Variable; 256];
            for (spelling, role) in roles {
                if let Some(code) = code(spelling) {
                    table[code as usize] = *role;
                }
            }
            table
        };
        let members = [".", "->", "::", "?.", "?->", "&.", ".*", "->*"].map(|spelling| (spelling, Role::Member));
        let tags = ["struct", "union", "enum"].map(|spelling| (spelling, Role::Tag));
        let behind = if language.family == "c" { [&members[..], &tags].concat() } else { members.to_vec() };
        let package = code(".").zip(code("*")).filter(|_| language.family == "go");
        Roles { family: language.family, behind: table(&behind), before: table(&[("::", Role::Space)]), package }
    }

    pub fn are_of(&self, language: &Language) -> bool {
        self.family == language.family
    }

    /// The role of the name at a place.
    pub fn role(&self, codes: &[Code], at: usize) -> Role {
        let before = |n: usize| at.checked_sub(n).map(|i| codes[i]);
        let after = |n: usize| codes.get(at + n).copied();
        let behind = before(1).map_or(Role::Variable, |code| self.behind[code as usize]);
        match behind {
            Role::Variable if self.is_package(before, after) => Role::Space,
            Role::Variable => after(1).map_or(Role::Variable, |code| self.before[code as usize]),
            role => role,
        }
    }

    /// `(url url.URL)`, `(url *url.URL)`, `(urls []url.URL)`: what comes before the dot is no variable.
    fn is_package(&self, before: impl Fn(usize) -> Option<Code>, after: impl Fn(usize) -> Option<Code>) -> bool {
        let Some((dot, star)) = self.package else { return false };
        let starts =
            |n: usize| before(n) == Some(IDENTIFIER) && [Some(OPEN_PAREN), Some(COMMA)].contains(&before(n + 1));
        let is_type = after(1) == Some(dot)
            && after(2) == Some(IDENTIFIER)
            && [Some(COMMA), Some(CLOSE_PAREN)].contains(&after(3));
        is_type
            && (starts(1)
                || (before(1) == Some(star) && starts(2))
                || (before(1) == Some(CLOSE_BRACKET) && before(2) == Some(OPEN_BRACKET) && starts(3)))
    }
}

#[cfg(all(test, feature = "all"))]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::document::tests::document;

    /// The names of a text with the first letters of their roles; names are written as they come.
    fn roles(name: &str, text: &str) -> String {
        let document = document(name, text, &Settings::default()).expect("a good text");
        let roles = Roles::of(document.language);
        let letter = |at: usize| match roles.role(&document.codes, at) {
            Role::Variable => 'v',
            Role::Member => 'm',
            Role::Tag => 't',
            Role::Space => 's',
        };
        document.codes.iter().enumerate().filter(|(_, code)| **code == IDENTIFIER).map(|(at, _)| letter(at)).collect()
    }

    #[test]
    fn roles_are_told_by_what_stands_beside_a_name() {
        assert_eq!(roles("a.c", "int f(struct order *order) { return order->order; }"), "vvtvvm");
        assert_eq!(roles("a.go", "package a\nfunc f(url *url.URL, u []url.URL) { g(url.Host) }"), "vvvsmvsmvvm");
        assert_eq!(roles("a.py", "def f(self, name):\n    self.name = name\n"), "vvvvmv");
        assert_eq!(roles("a.rs", "fn f(clock: clock::Clock) { clock.now(); }"), "vvsmvm");
    }
}
