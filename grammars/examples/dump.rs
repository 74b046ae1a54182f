#![allow(clippy::print_stdout)]
use dupi_grammars::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let l = by_name(&a[1]).unwrap();
    let src = std::fs::read(&a[2]).unwrap();
    let mut out = token::Lexed::default();
    if a.len() > 3 {
        let t = std::time::Instant::now();
        let n: u32 = a[3].parse().unwrap();
        for _ in 0..n { out.clear(); (l.lexer.as_ref().unwrap().lex)(&src, &mut out); }
        let lex = t.elapsed();
        let t = std::time::Instant::now();
        for _ in 0..n { out.units.clear(); (l.lexer.as_ref().unwrap().units)(&src, &mut out); }
        let mb = (src.len() as f64) * n as f64 / 1e6;
        println!("{} tokens {} units lex {:.0} MB/s units {:.0} MB/s", out.tokens.len(), out.units.len(), mb / lex.as_secs_f64(), mb / t.elapsed().as_secs_f64());
        return;
    }
    tokenize(l, &src, &mut out).unwrap();
    for u in &out.units {
        let (s, e) = (out.tokens[u.start as usize].start as usize, out.tokens[u.end as usize - 1].end as usize);
        println!("list {} flags {} | {}", u.list, u.flags, String::from_utf8_lossy(&src[s..e]).replace('\n', "⏎").chars().take(150).collect::<String>());
    }
}
