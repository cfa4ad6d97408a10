//! What the programs really print: of cargo 1.95, cargo-nextest 0.9, pytest 9, node 20, perl's `Test::More` and prove.
//! The events of Go are written after its documentation.

use super::{Figures, INCONSISTENT, UNREADABLE, figures};

type Case = (&'static str, &'static str, &'static str, Result<Figures, &'static str>);

macro_rules! case {
    ($parser:literal, $file:literal, $expected:expr) => {
        ($parser, $file, include_str!(concat!("outputs/", $file)), $expected)
    };
}

const CASES: &[Case] = &[
    case!("cargo-test", "cargo-test-failing.txt", Ok((9, 2, 4))),
    case!("cargo-test", "cargo-test-passing.txt", Ok((5, 0, 2))),
    case!("cargo-test", "cargo-test-documentation.txt", Ok((3, 0, 1))),
    case!("cargo-test", "cargo-test-none.txt", Ok((0, 0, 0))),
    case!("cargo-test", "cargo-test-coloured.txt", Ok((1, 2, 1))),
    case!("cargo-test", "cargo-test-quiet.txt", INCONSISTENT),
    case!("cargo-test", "cargo-test-nocapture.txt", INCONSISTENT),
    case!("cargo-test", "cargo-test-show-output.txt", UNREADABLE),
    case!("cargo-test", "nextest-failing.txt", UNREADABLE),
    case!("nextest", "nextest-failing.txt", Ok((6, 2, 3))),
    case!("nextest", "nextest-passing.txt", Ok((5, 0, 2))),
    case!("nextest", "nextest-stopped.txt", Ok((4, 1, 3))),
    case!("nextest", "nextest-none.txt", Ok((0, 0, 11))),
    case!("nextest", "nextest-retries.txt", Ok((6, 2, 3))),
    case!("nextest", "nextest-coloured.txt", Ok((6, 2, 3))),
    case!("nextest", "nextest-no-capture.txt", UNREADABLE),
    case!("nextest", "nextest-failures-only.txt", INCONSISTENT),
    case!("nextest", "cargo-test-passing.txt", UNREADABLE),
    case!("pytest", "pytest-failing.txt", Ok((8, 4, 4))),
    case!("pytest", "pytest-passing.txt", Ok((2, 0, 2))),
    case!("pytest", "pytest-verbose.txt", Ok((8, 4, 4))),
    case!("pytest", "pytest-quiet.txt", Ok((8, 4, 4))),
    case!("pytest", "pytest-coloured.txt", Ok((8, 4, 4))),
    case!("pytest", "pytest-workers.txt", Ok((8, 4, 4))),
    case!("pytest", "pytest-not-collected.txt", Ok((0, 1, 0))),
    case!("pytest", "pytest-none.txt", Ok((0, 0, 0))),
    case!("pytest", "pytest-deselected.txt", Ok((1, 0, 0))),
    case!("pytest", "pytest-stopped.txt", Ok((1, 1, 0))),
    case!("pytest", "pytest-quiet-subtests.txt", Ok((0, 5, 2))),
    case!("pytest", "pytest-skipped-module.txt", Ok((2, 0, 3))),
    case!("pytest", "pytest-very-quiet.txt", UNREADABLE),
    case!("pytest", "pytest-collect-only.txt", UNREADABLE),
    case!("junit-xml", "junit-nextest.xml", Ok((6, 2, 0))),
    case!("junit-xml", "junit-pytest.xml", Ok((7, 4, 4))),
    case!("junit-xml", "junit-node.xml", Ok((6, 4, 2))),
    case!("tap", "tap-node.txt", Ok((5, 2, 2))),
    case!("tap", "tap-perl.txt", Ok((2, 0, 2))),
    case!("tap", "tap-prove.txt", INCONSISTENT),
    case!("go-test-json", "go-test.json", Ok((1, 3, 1))),
];

#[test]
fn j04_what_the_programs_print_is_read_as_they_mean_it() {
    for (parser, file, output, expected) in CASES {
        assert_eq!(figures(parser, output), *expected, "{parser} of {file}");
    }
}

#[test]
fn line_ends_of_windows_change_nothing() {
    for (parser, file, output, expected) in CASES {
        assert_eq!(figures(parser, &output.replace('\n', "\r\n")), *expected, "{parser} of {file}");
    }
}

#[test]
fn j04_a_cut_output_is_refused_or_says_what_the_whole_says() {
    for (parser, file, output, expected) in CASES {
        let Ok(whole) = expected else { continue };
        for (end, _) in output.char_indices() {
            if let Ok(read) = figures(parser, &output[..end]) {
                // Go tells no end of the run, only of packages.
                let is_end_of_package = *parser == "go-test-json" && read.0 <= whole.0;
                assert!(read == *whole || is_end_of_package, "{file} cut at {end}: {read:?}");
            }
        }
    }
}

#[test]
fn j04_lines_that_are_lost_in_the_middle_are_missed() {
    for (parser, file, output, expected) in CASES {
        let Ok(whole) = expected else { continue };
        // Node gives no totals for what stands outside of suites.
        if *file == "junit-node.xml" {
            continue;
        }
        let lines: Vec<&str> = output.split_inclusive('\n').collect();
        for start in 0..lines.len() {
            for end in start + 1..=lines.len().min(start + 12) {
                let rest = [&lines[..start], &lines[end..]].concat().concat();
                if let Ok(read) = figures(parser, &rest) {
                    assert!(read.0 <= whole.0, "{file} without {start}..{end}: {read:?}");
                    let is_package = *parser == "go-test-json";
                    assert!(
                        read.1 > 0 || whole.1 == 0 || is_package,
                        "{file} without {start}..{end}"
                    );
                }
            }
        }
    }
}
