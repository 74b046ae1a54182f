//! A picture of the share of duplicated lines, for a README. It holds numbers alone.

use std::io::{self, Write};

use super::findings::Findings;

/// Up to so many percent a colour stands for: people call 3 % little and 20 % much.
const COLOURS: [(f64, &str); 5] =
    [(3.0, "#3a7d1f"), (5.0, "#66800b"), (10.0, "#8a6d00"), (20.0, "#b3540a"), (f64::INFINITY, "#b3261e")];
const LABEL: &str = "duplicated";
/// About as wide as a character of the font is, in pixels: a picture cannot ask for it.
const WIDTH: f64 = 6.6;
const PADDING: f64 = 6.0;

pub fn write(out: &mut dyn Write, findings: &Findings) -> io::Result<()> {
    let percent = findings.summary.percent();
    let value = format!("{percent:.1} %");
    let colour = COLOURS.iter().find(|(most, _)| percent <= *most).map_or("", |(_, colour)| colour);
    let width = |text: &str| (text.chars().count() as f64 * WIDTH + 2.0 * PADDING).round();
    let (left, right) = (width(LABEL), width(&value));
    let all = left + right;
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{all}\" height=\"20\" role=\"img\" \
         aria-label=\"{LABEL}: {value}\">\n\
         <title>{LABEL}: {value}</title>\n\
         <clipPath id=\"r\"><rect width=\"{all}\" height=\"20\" rx=\"3\"/></clipPath>\n\
         <g clip-path=\"url(#r)\">\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#444\"/>\n\
         <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/>\n\
         </g>\n\
         <g fill=\"#fff\" text-anchor=\"middle\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\n\
         <text x=\"{}\" y=\"14\">{LABEL}</text>\n\
         <text x=\"{}\" y=\"14\">{value}</text>\n\
         </g>\n</svg>",
        left / 2.0,
        left + right / 2.0,
    )
}
