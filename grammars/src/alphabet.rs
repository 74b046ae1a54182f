//! An alphabet: the fixed spellings of a language (keywords, brackets, operators) and their codes,
//! with the tables that make looking one up cheap. One alphabet may serve several related languages.

use crate::token::{Code, FIRST_FIXED, FIRST_WORD, PUNCTUATION};

/// The code that `spelling` has in an alphabet made of `words`; a compile error in a `const` if there is none.
pub const fn code_of(words: &[&str], spelling: &str) -> Code {
    let mut i = 0;
    while i < words.len() {
        if same(words[i].as_bytes(), spelling.as_bytes()) {
            return FIRST_WORD + i as Code;
        }
        i += 1;
    }
    panic!("no such spelling in the alphabet")
}

/// The code of a spelling in the `WORDS` at hand, looked up while compiling: done for each token, the search would cost
/// more than all the rest.
macro_rules! word {
    ($spelling:literal) => {
        const { $crate::alphabet::code_of(WORDS, $spelling) }
    };
}
pub(crate) use word;

/// A table that answers whether a code is one of `spellings`.
pub const fn table(words: &[&str], spellings: &[&str]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut i = 0;
    while i < spellings.len() {
        table[code_of(words, spellings[i]) as usize] = true;
        i += 1;
    }
    table
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

const SLOTS: usize = 1024;

pub struct Alphabet {
    spellings: Vec<String>,
    /// Open-addressed: index + 1 into `spellings`, 0 is empty.
    words: Box<[u16; SLOTS]>,
    /// Per first byte, the operators that start with it, longest first.
    operators: Vec<Vec<(Vec<u8>, Code)>>,
}

impl Alphabet {
    /// `words` are keywords and operators in any order; the common punctuation is there already.
    pub fn new<S: AsRef<str>>(words: &[S]) -> Alphabet {
        let spellings: Vec<String> =
            PUNCTUATION.iter().map(|s| s.to_string()).chain(words.iter().map(|s| s.as_ref().to_owned())).collect();
        assert!(spellings.len() <= 256 - FIRST_FIXED as usize, "an alphabet has at most 248 spellings");
        let mut table = Box::new([0u16; SLOTS]);
        let mut operators = vec![Vec::new(); 256];
        for (i, spelling) in spellings.iter().enumerate() {
            let bytes = spelling.as_bytes();
            let mut slot = slot(bytes);
            while table[slot] != 0 {
                slot = (slot + 1) % SLOTS;
            }
            table[slot] = i as u16 + 1;
            if !is_word_byte(bytes[0]) {
                operators[bytes[0] as usize].push((bytes.to_vec(), FIRST_FIXED + i as Code));
            }
        }
        for list in &mut operators {
            list.sort_by_key(|(bytes, _)| std::cmp::Reverse(bytes.len()));
        }
        Alphabet { spellings, words: table, operators }
    }

    /// The code of a whole spelling, if it is one.
    #[inline]
    pub fn code(&self, spelling: &[u8]) -> Option<Code> {
        if spelling.is_empty() {
            return None;
        }
        let mut slot = slot(spelling);
        loop {
            match self.words[slot] {
                0 => return None,
                i => {
                    if self.spellings[i as usize - 1].as_bytes() == spelling {
                        return Some(FIRST_FIXED + (i - 1) as Code);
                    }
                }
            }
            slot = (slot + 1) % SLOTS;
        }
    }

    /// The longest operator at the start of `rest`: its code and length.
    #[inline]
    pub fn operator(&self, rest: &[u8]) -> Option<(Code, usize)> {
        let list = &self.operators[*rest.first()? as usize];
        list.iter().find(|(bytes, _)| rest.starts_with(bytes)).map(|(bytes, code)| (*code, bytes.len()))
    }

    /// The spelling behind a fixed code.
    pub fn spelling(&self, code: Code) -> Option<&str> {
        self.spellings.get(code.checked_sub(FIRST_FIXED)? as usize).map(String::as_str)
    }
}

#[inline]
fn slot(bytes: &[u8]) -> usize {
    let n = bytes.len();
    (n.wrapping_mul(131)
        ^ (bytes[0] as usize).wrapping_mul(37)
        ^ (bytes[n - 1] as usize).wrapping_mul(7)
        ^ (bytes[n / 2] as usize).wrapping_mul(61))
        % SLOTS
}

#[inline]
fn is_word_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}
