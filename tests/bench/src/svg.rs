//! Pictures of distributions: which share of the values, upwards, is at most that, to the right.

use std::fmt::Write as _;

use crate::{figures::sorted, report::short};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 56.0;
const BOTTOM: f64 = 280.0;
const COLOURS: [&str; 4] = ["#c0504d", "#1f77b4", "#2ca02c", "#9467bd"];
/// From this factor between the greatest and the least on, each power of ten is as wide as any other.
const LOGARITHMIC_FROM: f64 = 30.0;

/// The values of one side.
#[derive(Debug, Clone)]
pub struct Series {
    /// In the legend.
    pub name: &'static str,
    /// In any order.
    pub values: Vec<f64>,
}

/// Where a value is, from left to right.
#[derive(Debug, Clone, Copy)]
enum Axis {
    Linear { max: f64 },
    Logarithmic { min: f64, max: f64 },
}

impl Axis {
    fn of(values: &[f64]) -> Self {
        let max = values.iter().copied().fold(0.0, f64::max);
        let min = values.iter().copied().fold(f64::INFINITY, f64::min);
        if min > 0.0 && max / min >= LOGARITHMIC_FROM {
            return Self::Logarithmic {
                min: 10_f64.powf(min.log10().floor()),
                max: 10_f64.powf(max.log10().ceil()),
            };
        }
        Self::Linear {
            max: if max > 0.0 { max * 1.05 } else { 1.0 },
        }
    }

    fn x(self, value: f64) -> f64 {
        let share = match self {
            Self::Linear { max } => value / max,
            Self::Logarithmic { min, max } => (value / min).log10() / (max / min).log10(),
        };
        LEFT + share.clamp(0.0, 1.0) * (RIGHT - LEFT)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { max } => [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| share * max).to_vec(),
            Self::Logarithmic { min, max } => std::iter::successors(Some(min), |tick| Some(tick * 10.0))
                .take_while(|tick| *tick <= max * 1.01)
                .collect(),
        }
    }
}

fn y(share: f64) -> f64 {
    BOTTOM - share * (BOTTOM - TOP)
}

/// One line for each side that has values.
pub fn distribution(title: &str, series: &[Series]) -> String {
    let all: Vec<f64> = series.iter().flat_map(|one| one.values.clone()).collect();
    let axis = Axis::of(&all);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
        escaped(title)
    );
    for percent in [0.0, 50.0, 99.0] {
        let at = y(percent / 100.0);
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{percent} %</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    for tick in axis.ticks() {
        let at = axis.x(tick);
        let _ = writeln!(
            svg,
            "<path d=\"M{at:.1} {TOP}V{BOTTOM}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            BOTTOM + 18.0,
            short(tick)
        );
    }
    let drawn = series.iter().filter(|one| !one.values.is_empty());
    let mut legend = LEFT;
    for (one, colour) in drawn.zip(COLOURS) {
        let _ = writeln!(
            svg,
            "<text x=\"{legend}\" y=\"42\" fill=\"{colour}\">{} ({})</text>\n{}",
            escaped(one.name),
            one.values.len(),
            steps(&one.values, axis, colour)
        );
        legend += 140.0;
    }
    svg + "</svg>\n"
}

/// Up at each value by its share; a dot at each where they are few.
fn steps(values: &[f64], axis: Axis, colour: &str) -> String {
    let sorted = sorted(values);
    let count = f64::from(u32::try_from(sorted.len()).unwrap_or(u32::MAX));
    let mut path = format!("M{LEFT} {BOTTOM}");
    let mut dots = String::new();
    let mut share = 0.0;
    for value in &sorted {
        share += 1.0 / count;
        let (x, y) = (axis.x(*value), y(share));
        let _ = write!(path, "H{x:.1}V{y:.1}");
        if sorted.len() <= 10 {
            let _ = write!(
                dots,
                "\n<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"
            );
        }
    }
    format!("<path d=\"{path}H{RIGHT}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>{dots}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &'static str, values: &[f64]) -> Series {
        Series {
            name,
            values: values.to_vec(),
        }
    }

    #[test]
    fn a_line_rises_by_a_share_at_each_value() {
        let svg = distribution("a < b", &[series("ours", &[50.0, 100.0])]);
        assert!(svg.contains("a &lt; b"), "{svg}");
        // The axis ends 5 % beyond the greatest.
        assert!(svg.contains("M56 280H324.6V168.0H593.1V56.0H620"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 2, "{svg}");
    }

    #[test]
    fn values_far_from_each_other_share_a_logarithmic_axis() {
        let svg = distribution(
            "t",
            &[series("peer", &[10_000.0; 20]), series("ours", &[10.0; 20])],
        );
        assert!(
            svg.contains(">10.0</text>") && svg.contains(">1000</text>"),
            "{svg}"
        );
        assert!(!svg.contains("<circle"), "{svg}");
    }

    #[test]
    fn a_side_without_values_is_not_drawn() {
        let svg = distribution("t", &[series("peer", &[]), series("ours", &[0.0])]);
        assert!(!svg.contains("peer") && !svg.contains("NaN"), "{svg}");
    }
}
